import Foundation
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// Uploads to servers that others wrote.
@Suite struct RealUploadTests {
    private static let content = pattern(6_000_000)
    private static let whole = Payload.source(offset: 0, length: 6_000_000)

    // MARK: nginx

    @Test(.enabled(if: RealServer.has("nginx")))
    func storesAFileByPUT() async throws {
        let bench = try Bench()
        let folder = bench.folder
        try FileManager.default.createDirectory(atPath: folder.file("dav"), withIntermediateDirectories: false)
        let server = try await RealServer("nginx", in: folder) { port in
            let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map { "\($0)_temp_path \(folder.file($0));" }.joined(separator: "\n")
            let user = getuid() == 0 ? "user root;" : ""
            let text = """
                daemon off; \(user) worker_processes 1; pid \(folder.file("pid")); error_log stderr;
                events {}
                http {
                  access_log off; \(paths)
                  server {
                    listen 127.0.0.1:\(port); root \(folder.file("dav")); client_max_body_size 7m;
                    location / { dav_methods PUT DELETE; create_full_put_path on; }
                  }
                }
                """
            try folder.write("nginx.conf", Array(text.utf8))
            return ["-p", folder.path, "-c", folder.file("nginx.conf"), "-e", "stderr"]
        }
        let source = try bench.source(Self.content)
        let url = "http://127.0.0.1:\(server.port)/a/file"
        for expects in [false, true] {
            let outcome = await bench.request("PUT", url, Self.whole, sending: source) { $0.expectsContinue = expects }
            #expect(outcome.end == .finished)
            #expect(outcome.head?.status == (expects ? 204 : 201))
            #expect(outcome.sent == 6_000_000)
            #expect(try folder.read("dav/a/file") == Self.content)
        }
        let large = try bench.source(pattern(8_000_000), name: "large")
        let refused = await bench.request("PUT", url, .source(offset: 0, length: 8_000_000), sending: large) {
            $0.expectsContinue = true
        }
        #expect(refused.head?.status == 413)
        #expect(refused.sent == .zero)
        #expect(refused.continueRefused)
        await bench.engine.shutdown()
    }

    // MARK: FTP

    @Test(.enabled(if: RealServer.has("vsftpd") && getuid() == 0))
    func storesAndAppendsOverFTP() async throws {
        let bench = try Bench()
        let folder = bench.folder
        try FileManager.default.createDirectory(atPath: folder.file("root/pub"), withIntermediateDirectories: true)
        #expect(chmod(folder.path, 0o755) == 0)
        #expect(chmod(folder.file("root/pub"), 0o777) == 0)
        let server = try await RealServer("vsftpd", in: folder) { port in
            let text = """
                listen=YES
                listen_address=127.0.0.1
                listen_port=\(port)
                background=NO
                anonymous_enable=YES
                local_enable=NO
                anon_root=\(folder.file("root"))
                no_anon_password=YES
                write_enable=YES
                anon_upload_enable=YES
                anon_other_write_enable=YES
                anon_umask=022
                seccomp_sandbox=NO
                secure_chroot_dir=\(folder.file("root"))
                xferlog_enable=NO
                connect_from_port_20=NO
                """
            try folder.write("vsftpd.conf", Array((text + "\n").utf8))
            return [folder.file("vsftpd.conf")]
        }
        try await storeAndResume(bench, "ftp://127.0.0.1:\(server.port)/pub", folder.file("root/pub")) { _ in }
        await bench.engine.shutdown()
    }

    /// What every file protocol owes: a whole upload, one that replaces, the rest of one, an empty one, a probe of what is
    /// there and of what is not.
    private func storeAndResume(
        _ bench: Bench, _ base: String, _ root: String, _ change: (inout Exchange) -> Void
    ) async throws {
        func stored() throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: "\(root)/file"))) }
        let source = try bench.source(Self.content)
        let shorter = try bench.source(pattern(1000, seed: 5), name: "shorter")
        for (source, count) in [(source, 6_000_000), (shorter, 1000)] {
            let payload = Payload.source(offset: 0, length: ByteCount(Int64(count)))
            let outcome = await bench.request("PUT", "\(base)/file", payload, sending: source, change: change)
            #expect(outcome.end == .finished)
            #expect(outcome.sent == ByteCount(Int64(count)))
            #expect(try stored().count == count)
        }
        #expect(try stored() == pattern(1000, seed: 5))

        let beginning = Payload.source(offset: 0, length: 2_500_001)
        #expect(await bench.request("PUT", "\(base)/file", beginning, sending: source, change: change).end == .finished)
        let probe = await bench.perform("\(base)/file", into: nil) {
            change(&$0)
            $0.kind = .probe
        }
        #expect(probe.head?.size == 2_500_001)
        let rest = Payload.source(offset: 2_500_001, length: 3_499_999)
        let outcome = await bench.request("PUT", "\(base)/file", rest, sending: source) {
            change(&$0)
            $0.startOffset = 2_500_001
        }
        #expect(outcome.end == .finished)
        #expect(outcome.sent == 3_499_999)
        #expect(bench.counters.bytesSent == 6_000_000)
        #expect(try stored() == Self.content)

        let empty = try bench.source([], name: "empty")
        let nothing = Payload.source(offset: 0, length: 0)
        let emptied = await bench.request("PUT", "\(base)/file", nothing, sending: empty, change: change)
        #expect(emptied.end == .finished)
        #expect(try stored().isEmpty)
        let missing = await bench.perform("\(base)/missing", into: nil) {
            change(&$0)
            $0.kind = .probe
        }
        guard case .transport(78, _) = missing.end else { throw TestFailure("\(missing.end)") }
        let nowhere = await bench.request("PUT", "\(base)/no/folder/file", Self.whole, sending: source, change: change)
        guard case .transport = nowhere.end else { throw TestFailure("\(nowhere.end)") }

        bench.engine.setUploadRateLimit(task: bench.task, 100_000_000)
        #expect(
            await bench.request("PUT", "\(base)/file", Self.whole, sending: source, change: change).end == .finished)
        #expect(try stored() == Self.content)
    }

    // MARK: SFTP

    @Test(.enabled(if: RealServer.has("sshd", "ssh-keygen") && getuid() == 0))
    func storesAndResumesOverSFTP() async throws {
        let first = try Bench()
        let folder = first.folder
        for name in ["host", "user"] {
            try await RealServer.run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", folder.file(name)])
        }
        try folder.write("authorized", try folder.read("user.pub"))
        try? FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true)
        let server = try await RealServer("sshd", in: folder) { port in
            let text = """
                Port \(port)
                ListenAddress 127.0.0.1
                HostKey \(folder.file("host"))
                AuthorizedKeysFile \(folder.file("authorized"))
                PidFile none
                StrictModes no
                UsePAM no
                PermitRootLogin yes
                PasswordAuthentication no
                Subsystem sftp internal-sftp
                """
            try folder.write("sshd.conf", Array((text + "\n").utf8))
            return ["-D", "-e", "-f", folder.file("sshd.conf")]
        }
        let key = String(decoding: try folder.read("host.pub"), as: UTF8.self)
        try folder.write("known", Array("[127.0.0.1]:\(server.port) \(key)".utf8))
        for name in [".ssh", "store"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        try folder.write(".ssh/id_ed25519", try folder.read("user"))
        #expect(chmod(folder.file(".ssh/id_ed25519"), 0o600) == 0)
        let engine = try CurlEngine(
            .init(journalPath: folder.file("journal2"), userAgent: "dld-test", homeDirectory: folder.path))
        let bench = Bench(first, engine: engine)
        let base = "sftp://root@127.0.0.1:\(server.port)\(folder.file("store"))"
        try await storeAndResume(bench, base, folder.file("store")) {
            $0.network.knownHostsPath = folder.file("known")
        }
        await engine.shutdown()
        await first.engine.shutdown()
    }
}
