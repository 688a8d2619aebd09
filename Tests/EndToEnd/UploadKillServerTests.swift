import TestSupport
import Testing
import TransferModel

/// Uploads to file servers whose daemon is killed five times at random. The server's own log shows what arrived.
struct UploadKillServerTests {
    private typealias Run = UploadKillRun
    /// A dead client's last bytes may arrive after the next one has asked for the size: as much as a socket holds, for
    /// each kill.
    private static let inFlight = (Run.kills + 1) * (4 << 20)

    private func expectFile(_ ending: UploadKillRun.Ending, at path: String, logged: () -> [Int]) async {
        ending.expectContinued(Run.medium)
        let isIdentical = Run.medium.matches(path)
        #expect(isIdentical)
        // The last session's line is logged at its end.
        #expect(await eventually { logged().reduce(0, +) >= Run.medium.size })
        #expect(logged().count > Run.kills)
        #expect(logged().reduce(0, +) <= Run.medium.size + Self.inFlight)
    }

    private func run(_ name: String, before ports: [UInt16], path: String) throws -> UploadKillRun {
        let relay = try UploadRelay(to: ports) { Self.size(path) }
        return Run(name: name, content: Run.medium, server: relay)
    }

    private static func size(_ path: String) -> Int { Int(Files.status(path)?.st_size ?? 0) }

    @Test(.timeLimit(.minutes(5)), .enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
    func sftp() async throws {
        let server = try await SFTPServer.start(isRecording: true)
        let path = server.folder.file("www/file")
        var run = try run("sftp", before: [server.port], path: path)
        run.environment = ["HOME": server.home]
        let ending = try await run.run(to: server.url("file", host: UploadRelay.host)) { Self.size(path) }
        await expectFile(ending, at: path) { server.uploads }
    }

    @Test(.timeLimit(.minutes(5)), .enabled(if: Requirements.isRoot && Requirements.has("vsftpd")))
    func ftp() async throws {
        let server = try await FTPServer.start(dataPorts: 5)
        let path = server.folder.file("www/incoming/file")
        let run = try run("ftp", before: server.ports, path: path)
        let ending = try await run.run(to: server.url("incoming/file", host: UploadRelay.host)) { Self.size(path) }
        await expectFile(ending, at: path) { server.uploads }
    }
}
