import Glibc
import TestSupport

/// The content that a simulated task sends: a file that its client may change, or bytes that the daemon has copied.
final class Source {
    /// Nil if there is no file.
    let path: String?
    /// The content of each version.
    private(set) var contents: [[UInt8]]
    private static let begin = 1_600_000_000
    /// The longest changed version that does not have the length of the first.
    static let mostChanged = 200_000

    init(_ content: [UInt8], path: String?) throws {
        self.path = path
        contents = [content]
        if path != nil { try write(content, inPlace: true) }
    }

    var version: Int { contents.count - 1 }

    /// When the file was written last, in seconds since 1970.
    var time: Int { Self.begin + version }

    /// The client writes another version: in place, or to another file that is renamed over it.
    func change(_ random: inout SeededGenerator) throws {
        let count = contents[version].count
        let length = random.chance(600) ? count : random.below(Self.mostChanged)
        contents.append(random.bytes(length))
        try write(contents[version], inPlace: random.chance(500))
    }

    private func write(_ bytes: [UInt8], inPlace: Bool) throws {
        guard let path else { return }
        let target = inPlace ? path : path + ".new"
        let file = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0, Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw Violation("\(target) cannot be written")
        }
        // Real clocks are not allowed here, and the times must differ even between steps that take no time.
        let time = timespec(tv_sec: time, tv_nsec: 0)
        futimens(file, [time, time])
        close(file)
        if !inPlace { rename(target, path) }
    }
}
