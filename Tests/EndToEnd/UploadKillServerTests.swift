import TestSupport
import Testing
import TransferModel

/// Uploads to file servers whose daemon is killed five times at random: the server's own log says what came.
struct UploadKillServerTests {
    private typealias Run = UploadKillRun
    /// A dead client's last bytes may arrive when the next one has asked for the size: what a socket holds, for each kill.
    private static let inFlight = (Run.kills + 1) * (4 << 20)

    private func expectFile(_ ending: UploadKillRun.Ending, at path: String, logged: () -> [Int]) async {
        ending.expectContinued(Run.medium)
        let isIdentical = Run.medium.matches(path)
        #expect(isIdentical)
        // The last session's line comes with its end.
        #expect(await eventually { logged().reduce(0, +) >= Run.medium.size })
        #expect(logged().count > Run.kills)
        #expect(logged().reduce(0, +) <= Run.medium.size + Self.inFlight)
    }

    @Test(.timeLimit(.minutes(5)), .enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
    func sftp() async throws {
        let server = try await SFTPServer.start(isRecording: true)
        let path = server.folder.file("www/file")
        var run = Run(name: "sftp", content: Run.medium, pace: Run.isLong ? 60 : 16)
        run.environment = ["HOME": server.home]
        let ending = try await run.run(to: server.url("file")) { Int(Files.status(path)?.st_size ?? 0) }
        await expectFile(ending, at: path) { server.uploads }
    }

    @Test(.timeLimit(.minutes(5)), .enabled(if: Requirements.isRoot && Requirements.has("vsftpd")))
    func ftp() async throws {
        let server = try await FTPServer.start()
        let path = server.folder.file("www/incoming/file")
        let ending = try await Run(name: "ftp", content: Run.medium, pace: Run.isLong ? 60 : 16)
            .run(to: server.url("incoming/file")) { Int(Files.status(path)?.st_size ?? 0) }
        await expectFile(ending, at: path) { server.uploads }
    }
}
