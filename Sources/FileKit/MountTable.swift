import Glibc
import Threading

/// The mounted file systems, from the kernel's list. It is read without touching a file system, because each may hang.
/// Source: https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo
package struct MountTable: Sendable, Hashable {
    /// Increased whenever something was mounted or unmounted.
    package private(set) var generation = 0
    private var devices: [String: UInt64] = [:]

    /// - Parameter text: the contents of /proc/self/mountinfo.
    package init(_ text: String, generation: Int = 0) {
        self.generation = generation
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count > 4, let device = Self.device(fields[2]) else { continue }
            // If several are mounted at one place, the last one is visible.
            devices[Self.unescaped(fields[4])] = device
        }
    }

    /// The mount point above `path`, without following links, and its device.
    /// - Parameter path: absolute, without `.` and `..`.
    package func mount(of path: String) -> (point: String, device: UInt64) {
        var place = path[...]
        while !place.isEmpty {
            if let device = devices[String(place)] { return (String(place), device) }
            place = place[..<(place.lastIndex(of: "/") ?? place.startIndex)]
        }
        return ("/", devices["/"] ?? 0)
    }

    /// Converts `major:minor` to the device number of stat(2); makedev(3).
    private static func device(_ text: Substring) -> UInt64? {
        let numbers = text.split(separator: ":").compactMap { UInt64($0) }
        guard numbers.count == 2 else { return nil }
        let (major, minor) = (numbers[0], numbers[1])
        return (major & 0xffff_f000) << 32 | (major & 0xfff) << 8 | (minor & 0xffff_ff00) << 12 | minor & 0xff
    }

    /// Blanks, tabs, line breaks and backslashes are written as three octal digits.
    private static func unescaped(_ text: Substring) -> String {
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let value = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension MountTable {
    /// The current list. It is read again only after something was mounted or unmounted.
    package static var current: MountTable { source.withLock { $0.table() } }

    private static let source = Guarded(Source())

    /// Never closed: there is only one in a process.
    private struct Source {
        private let file = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        private var known: MountTable?

        mutating func table() -> MountTable {
            if let known, !hasChanged() { return known }
            // Acknowledges the change before reading, so that a later one is noticed again.
            _ = hasChanged()
            let table = MountTable(read(), generation: (known?.generation ?? 0) + 1)
            known = table
            return table
        }

        /// Tells whether something changed since the last call; poll(2) reports that as an exception.
        private func hasChanged() -> Bool {
            var request = pollfd(fd: file, events: Int16(POLLPRI), revents: 0)
            return poll(&request, 1, 0) > 0 && Int32(request.revents) & (POLLPRI | POLLERR) != 0
        }

        private func read() -> String {
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = pread(file, &buffer, buffer.count, off_t(text.count))
                guard count > 0 else { return String(decoding: text, as: UTF8.self) }
                text += buffer[..<count]
            }
        }
    }
}

/// Follows a path to its file system, one mount after another.
struct MountWalk: Sendable {
    let device: UInt64
    private let path: String
    private let point: String
    private let table: MountTable
    private let linksLeft: Int

    /// As many links as the kernel follows; path_resolution(7).
    private static let mostLinks = 40

    init(_ path: String, _ table: MountTable, followsLinks: Bool = true) {
        self.init(PathRules.normalized(path), table, linksLeft: followsLinks ? Self.mostLinks : 0)
    }

    private init(_ path: String, _ table: MountTable, linksLeft: Int) {
        self.path = path
        self.table = table
        self.linksLeft = linksLeft
        (point, device) = table.mount(of: path)
    }

    /// Returns the path on another file system to which a link on this one leads; nil if the path stays here. Touches
    /// only this file system.
    func next() -> MountWalk? {
        var (path, linksLeft) = (path, linksLeft)
        while linksLeft > 0, let followed = Self.followed(path, below: point) {
            linksLeft -= 1
            path = followed
            let walk = MountWalk(path, table, linksLeft: linksLeft)
            if walk.point != point { return walk }
        }
        return nil
    }

    /// Returns `path` with its first link below `point` replaced by the link's target; nil if there is no link.
    private static func followed(_ path: String, below point: String) -> String? {
        let components = path.split(separator: "/")
        let start = point.split(separator: "/").count
        guard start < components.count else { return nil }
        var place = point == "/" ? "" : point
        for index in start..<components.count {
            let folder = place
            place += "/" + components[index]
            guard let target = link(at: place) else { continue }
            let rest = components[(index + 1)...].joined(separator: "/")
            let base = target.hasPrefix("/") ? target : folder + "/" + target
            return PathRules.normalized(rest.isEmpty ? base : base + "/" + rest)
        }
        return nil
    }

    private static func link(at path: String) -> String? {
        withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
        }
    }
}
