import Glibc
import TestSupport
import Testing
import Threading

@testable import DaemonKit

struct ResolverFilesTests {
    enum Repair: CaseIterable { case inPlace, replaced, targetReplaced, targetAppears, relinked, appears }

    /// /etc/resolv.conf may be a file, or a link into a folder to which a daemon writes.
    @Test(.timeLimit(.minutes(1)), arguments: Repair.allCases) func aChangeIsTold(_ repair: Repair) async throws {
        let folder = try TemporaryFolder()
        for name in ["etc", "run", "other"] { #expect(mkdir(folder.file(name), 0o700) == 0) }
        let (path, target) = (folder.file("etc/resolv.conf"), folder.file("run/stub.conf"))
        switch repair {
        case .inPlace, .replaced: try Files.write(path, "nameserver 127.0.0.9\n")
        case .targetReplaced, .relinked:
            try Files.write(target, "nameserver 127.0.0.9\n")
            #expect(symlink("../run/stub.conf", path) == 0)
        case .targetAppears: #expect(symlink("../run/stub.conf", path) == 0)
        case .appears: break
        }
        let monitor = NetworkMonitor(resolver: ResolverFiles(paths: [path]))
        let told = Guarded(0)
        let changes = monitor.resolverChanges
        let listening = Task { for await _ in changes { told.withLock { $0 += 1 } } }
        defer { listening.cancel() }
        let good = "nameserver 127.0.0.1\n"
        // The watch may begin after the first change, so the test makes others until one is reported.
        var number = 0
        let isTold = await eventually(every: 0.3) {
            number += 1
            let text = good + "# \(number)\n"
            switch repair {
            case .inPlace, .appears: try? Files.write(path, text)
            case .replaced, .targetReplaced, .targetAppears:
                try? Files.write(folder.file("other/new"), text)
                rename(folder.file("other/new"), repair == .replaced ? path : target)
            case .relinked:
                try? Files.write(folder.file("other/\(number)"), text)
                symlink(folder.file("other/\(number)"), folder.file("etc/link"))
                rename(folder.file("etc/link"), path)
            }
            return told.withLock { $0 > 0 }
        }
        #expect(isTold)
    }

    /// Other files in the folder change all the time.
    @Test(.timeLimit(.minutes(1))) func onlyWhatTheySayCounts() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("resolv.conf")
        try Files.write(path, "nameserver 127.0.0.9\n")
        let monitor = NetworkMonitor(resolver: ResolverFiles(paths: [path]))
        let told = Guarded(0)
        let changes = monitor.resolverChanges
        let listening = Task { for await _ in changes { told.withLock { $0 += 1 } } }
        defer { listening.cancel() }
        let files = ResolverFiles(paths: [path])
        let before = files.content
        try Files.write(folder.file("neighbour"), "x")
        try Files.write(path, "nameserver 127.0.0.9\n")
        #expect(files.content == before && told.withLock { $0 } == 0)
    }
}
