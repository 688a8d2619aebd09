import CLinux
import Glibc
import TestSupport
import Testing
import Threading

@testable import FileKit

@Suite(.timeLimit(.minutes(4)))
struct PathsBeneathTests {
    /// Both ways if this machine supports both.
    static let ways = PathsBeneath.available == .openat2 ? PathsBeneath.allCases : [.walk]

    /// The result of a call: the errno, or the file that was opened.
    private enum Outcome: Hashable, CustomStringConvertible {
        case refused(Int32)
        case opened(FileIdentity)

        init(_ descriptor: Int32) {
            let code = errno
            if descriptor < 0 {
                self = .refused(code)
                return
            }
            let opened = Descriptor(descriptor)
            self = status(of: opened.rawValue).map { .opened(FileIdentity($0)) } ?? .refused(EBADF)
        }

        var description: String {
            switch self {
            case .refused(let code): errorText(code)
            case .opened(let file): "opened \(file.inode)"
            }
        }
    }

    /// A folder with every kind of file that a name can mean, and files outside it.
    private struct Zoo {
        let temporary: TemporaryFolder
        let root: String
        static let kinds = [
            "folder", "file", "fifo", "socket", "missing", "closed", "up", "down", "self", "loop", "dangling",
            "absolute", "outside", "outsideFile", "magic", ".",
        ]

        init() throws {
            temporary = try TemporaryFolder()
            root = temporary.file("root")
            mkdir(root, 0o755)
            try Files.write(temporary.file("secret"), "secret")
            try temporary.folder("elsewhere")
            try Files.write(temporary.file("elsewhere/file"), "secret")
            try stock(root, depth: 2)
        }

        private func stock(_ folder: String, depth: Int) throws {
            try Files.write(folder + "/file", "text")
            mkfifo(folder + "/fifo", 0o600)
            mknod(folder + "/socket", S_IFSOCK | 0o600, 0)
            mkdir(folder + "/closed", 0)
            for (name, target) in [
                ("up", ".."), ("down", "folder"), ("self", "."), ("loop", "loop"), ("dangling", "nothing"),
                ("absolute", root + "/folder"), ("outside", temporary.file("elsewhere")),
                ("outsideFile", temporary.file("secret")), ("magic", "/proc/self/cwd"),
            ] {
                #expect(symlink(target, folder + "/" + name) == 0)
            }
            guard depth > 0 else { return }
            mkdir(folder + "/folder", 0o755)
            try stock(folder + "/folder", depth: depth - 1)
        }
    }

    /// The flags that delivery, sources and checks use. A device or a FIFO makes none of them wait.
    private static let flags: [Int32] = [
        O_RDONLY | O_NONBLOCK | O_NOCTTY, O_RDONLY | O_DIRECTORY, DLD_O_PATH | O_DIRECTORY, DLD_O_PATH,
    ]

    @Test func theWalkAnswersAsTheKernelDoes() throws {
        try #require(PathsBeneath.available == .openat2, "this machine has no openat2 to compare with")
        let zoo = try Zoo()
        let folder = Descriptor(open(zoo.root, DLD_O_PATH | O_DIRECTORY))
        var paths: [[String]] = [[], [".."], ["folder", ".."], ["folder", "..", ".."], ["folder/file"], [""], ["/"]]
        for first in Zoo.kinds {
            paths.append([first])
            for second in Zoo.kinds {
                paths.append([first, second])
                for third in Zoo.kinds { paths.append([first, second, third]) }
            }
        }
        for path in paths {
            for flags in Self.flags {
                let (kernel, walk) = (
                    Outcome(PathsBeneath.openat2.open(path, beneath: folder.rawValue, flags)),
                    Outcome(PathsBeneath.walk.open(path, beneath: folder.rawValue, flags))
                )
                #expect(kernel == walk, "\(path) with flags \(flags)")
            }
        }
    }

    /// /proc has links whose target is not their text (proc(5)).
    @Test(arguments: ways)
    func linksOfTheKernelAreNotFollowed(_ way: PathsBeneath) throws {
        let process = Descriptor(open("/proc/self", DLD_O_PATH | O_DIRECTORY))
        for path in [["root"], ["cwd"], ["exe"], ["fd", "0"], ["root", "etc"], ["cwd", "."], ["task", "self"]] {
            for flags in Self.flags {
                let outcome = Outcome(way.open(path, beneath: process.rawValue, flags))
                #expect(outcome == .refused(path == ["task", "self"] ? ENOENT : ELOOP), "\(path) with flags \(flags)")
            }
        }
    }

    @Test(arguments: ways)
    func nothingLeadsOut(_ way: PathsBeneath) throws {
        let zoo = try Zoo()
        let folder = Descriptor(open(zoo.root + "/folder", DLD_O_PATH | O_DIRECTORY))
        for path in [[".."], ["..", "file"], ["folder", "..", ".."], ["../file"], ["/etc/passwd"], ["", "etc"]] {
            #expect(Outcome(way.open(path, beneath: folder.rawValue, O_RDONLY)) == .refused(EXDEV), "\(path)")
        }
    }

    /// The owner of the folders swaps them for links while the path is walked.
    @Test(arguments: ways)
    func nobodyIsFasterThanTheWay(_ way: PathsBeneath) throws {
        let zoo = try Zoo()
        let inside = zoo.root + "/folder"
        // Each name on the path has a twin that leads outside.
        for (name, twin, target) in [
            (inside + "/door", inside + "/trap", zoo.temporary.file("elsewhere")),
            (inside + "/door/file", inside + "/door/link", zoo.temporary.file("secret")),
        ] {
            if name.hasSuffix("door") { mkdir(name, 0o755) } else { try Files.write(name, "mine") }
            #expect(symlink(target, twin) == 0)
        }
        let attack = try Swapping([
            (inside + "/door/file", inside + "/door/link"), (inside + "/door", inside + "/trap"),
        ])
        defer { attack.end() }
        let folder = Descriptor(open(zoo.root, DLD_O_PATH | O_DIRECTORY))
        var seen: [String: Int] = [:]
        for _ in 0..<400_000 {
            let descriptor = way.open(["folder", "door", "file"], beneath: folder.rawValue, O_RDONLY)
            let code = errno
            guard descriptor >= 0 else {
                seen[errorText(code), default: 0] += 1
                continue
            }
            let opened = Descriptor(descriptor)
            var text = [UInt8](repeating: 0, count: 16)
            let count = read(opened.rawValue, &text, text.count)
            seen[String(decoding: text.prefix(max(0, count)), as: UTF8.self), default: 0] += 1
            if seen["mine", default: 0] >= 2000, seen[errorText(ELOOP), default: 0] >= 2000 { break }
        }
        #expect(seen["secret"] == nil, "\(seen)")
        #expect(seen["mine", default: 0] > 0 && seen[errorText(ELOOP), default: 0] > 0, "\(seen)")
    }

    @Test func theProbeSaysWhatIsThere() throws {
        let descriptor = dld_open_beneath(AT_FDCWD, ".", UInt64(DLD_O_PATH), 0)
        if descriptor >= 0 { close(descriptor) }
        #expect(PathsBeneath.probe() == (descriptor >= 0 ? .openat2 : .walk))
    }
}

/// A thread that swaps pairs of names until it is told to end (renameat2(2), RENAME_EXCHANGE).
private final class Swapping: Sendable {
    private typealias Rename =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    private static let exchange: UInt32 = 2

    private struct State: Sendable {
        var isAsked = false
        var hasEnded = false
    }

    private let state = ConditionLock(State())

    init(_ pairs: [(String, String)]) throws {
        // The Glibc module lacks it.
        try #require(dlsym(nil, "renameat2") != nil)
        let state = state
        try Threads.start {
            let rename = unsafeBitCast(dlsym(nil, "renameat2"), to: Rename.self)
            while !state.withLock({ $0.isAsked }) {
                for (one, other) in pairs { _ = rename(AT_FDCWD, one, AT_FDCWD, other, Self.exchange) }
            }
            state.withLock { $0.hasEnded = true }
            state.signal()
        }
    }

    /// Ends the thread, and returns when no more names are swapped.
    func end() {
        state.withLock { $0.isAsked = true }
        state.wait { $0.hasEnded ? () : nil }
    }
}
