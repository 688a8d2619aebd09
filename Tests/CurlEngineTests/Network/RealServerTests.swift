import Foundation
import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// The protocols that only a real server speaks: TLS with HTTP/2, FTP, SFTP, SOCKS.
@Suite struct RealServerTests {
    private static let file = pattern(2 << 20)

    // MARK: nginx

    private func makeCertificate(_ folder: Folder) async throws {
        try await RealServer.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                folder.file("key.pem"), "-out", folder.file("certificate.pem"),
            ])
    }

    private func nginx(_ folder: Folder) async throws -> RealServer {
        try folder.write("file", Self.file)
        try await makeCertificate(folder)
        return try await RealServer("nginx", in: folder) { port in
            let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map { "\($0)_temp_path \(folder.file($0));" }.joined(separator: "\n")
            let user = getuid() == 0 ? "user root;" : ""
            let text = """
                daemon off; \(user) worker_processes 1; pid \(folder.file("pid")); error_log stderr;
                events {}
                http {
                  access_log off; \(paths)
                  server {
                    listen 127.0.0.1:\(port) ssl http2; root \(folder.path);
                    ssl_certificate \(folder.file("certificate.pem"));
                    ssl_certificate_key \(folder.file("key.pem"));
                    ssl_protocols TLSv1.2;
                  }
                }
                """
            try folder.write("nginx.conf", Array(text.utf8))
            return ["-p", folder.path, "-c", folder.file("nginx.conf"), "-e", "stderr"]
        }
    }

    @Test(.enabled(if: RealServer.has("nginx", "openssl")))
    func downloadsOverTLSAndHTTP2() async throws {
        let bench = try Bench()
        let server = try await nginx(bench.folder)
        let url = "https://localhost:\(server.port)/file"
        let authority = bench.folder.file("certificate.pem")
        let outcome = try await bench.download(url) { $0.network.caFile = authority }
        #expect(outcome.end == .finished)
        #expect(outcome.head?.httpVersion == "2")
        #expect(try bench.folder.read("part") == Self.file)

        let older = try await bench.download(url) {
            $0.network.caFile = authority
            $0.network.httpVersion = .v11
            $0.headers = [HeaderField("Range", "bytes=5-")]
        }
        #expect(older.head?.httpVersion == "1.1")
        #expect(older.head?.status == 206)

        let upload = await bench.request("PUT", url, .bytes([1])) { $0.network.caFile = authority }
        #expect(upload.head?.status == 405)
        #expect(upload.head?.httpVersion == (CurlVersion.current.uploadsSafelyOverHTTP2 ? "2" : "1.1"))

        guard case .transport(60, _) = try await bench.download(url).end else { throw TestFailure("trusted") }
        let strict = try await bench.download(url) {
            $0.network.caFile = authority
            $0.network.tlsMinimumVersion = .v13
        }
        guard case .transport(35, _) = strict.end else { throw TestFailure("\(strict.end)") }
        await bench.engine.shutdown()
    }

    // MARK: vsftpd

    @Test(.enabled(if: RealServer.has("vsftpd", "openssl") && getuid() == 0), arguments: ["ftp", "ftps"])
    func probesAndResumesOverFTP(scheme: String) async throws {
        let bench = try Bench()
        let folder = bench.folder
        try await makeCertificate(folder)
        try FileManager.default.createDirectory(atPath: folder.file("pub"), withIntermediateDirectories: false)
        try folder.write("pub/file", Self.file)
        try folder.write("pub/empty", [])
        #expect(chmod(folder.path, 0o755) == 0)
        var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
        #expect(utimes(folder.file("pub/file"), &times) == 0)
        let server = try await RealServer("vsftpd", in: folder) { port in
            let text = """
                listen=YES
                listen_address=127.0.0.1
                listen_port=\(port)
                background=NO
                anonymous_enable=YES
                local_enable=NO
                anon_root=\(folder.path)
                no_anon_password=YES
                seccomp_sandbox=NO
                secure_chroot_dir=\(folder.file("pub"))
                xferlog_enable=NO
                connect_from_port_20=NO
                """
            let tls = """

                ssl_enable=YES
                implicit_ssl=YES
                allow_anon_ssl=YES
                force_anon_data_ssl=YES
                force_anon_logins_ssl=YES
                require_ssl_reuse=NO
                rsa_cert_file=\(folder.file("certificate.pem"))
                rsa_private_key_file=\(folder.file("key.pem"))
                """
            let lines = scheme == "ftps" ? text + tls : text
            try folder.write("vsftpd.conf", Array((lines + "\n").utf8))
            return [folder.file("vsftpd.conf")]
        }
        try await probeAndResume(bench, "\(scheme)://127.0.0.1:\(server.port)/pub") {
            $0.network.caFile = folder.file("certificate.pem")
        }
        await bench.engine.shutdown()
    }

    /// What every file protocol owes: a probe, a whole download, the rest of one, an empty file, a missing one.
    private func probeAndResume(_ bench: Bench, _ base: String, _ change: (inout Exchange) -> Void) async throws {
        let probe = await bench.perform("\(base)/file", into: nil) {
            change(&$0)
            $0.kind = .probe
        }
        #expect(probe.end == .finished)
        #expect(probe.head?.size == ByteCount(2 << 20))
        #expect(probe.head?.modificationTime == 1_000_000_000)

        let whole = try await bench.download("\(base)/file", change: change)
        #expect(whole.end == .finished)
        #expect(whole.head?.size == ByteCount(2 << 20))
        #expect(whole.head?.modificationTime == 1_000_000_000)
        #expect(try bench.folder.read("part") == Self.file)

        let part = try bench.part("rest")
        let handle = try #require(FileHandle(forWritingAtPath: part.path))
        try handle.write(contentsOf: Data(Self.file[..<1_000_000]))
        let rest = await bench.perform("\(base)/file", into: part, judge: .taking(offset: 1_000_000)) {
            change(&$0)
            $0.startOffset = 1_000_000
        }
        #expect(rest.end == .finished)
        #expect(rest.head?.size == ByteCount(2 << 20))
        #expect(rest.received == ByteCount((2 << 20) - 1_000_000))
        #expect(try bench.folder.read("rest") == Self.file)

        let empty = try await bench.download("\(base)/empty", change: change)
        #expect(empty.end == .finished)
        #expect(empty.offset == .zero)
        guard case .transport = try await bench.download("\(base)/missing", change: change).end else {
            throw TestFailure("a missing file was found")
        }
    }

    // MARK: sshd

    @Test(.enabled(if: RealServer.has("sshd", "ssh-keygen") && getuid() == 0))
    func probesAndResumesOverSFTPFromKnownHostsOnly() async throws {
        let bench = try Bench()
        let folder = bench.folder
        try folder.write("file", Self.file)
        try folder.write("empty", [])
        var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
        #expect(utimes(folder.file("file"), &times) == 0)
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
        let other = String(decoding: try folder.read("user.pub"), as: UTF8.self)
        try folder.write("wrong", Array("[127.0.0.1]:\(server.port) \(other)".utf8))
        try FileManager.default.createDirectory(atPath: folder.file(".ssh"), withIntermediateDirectories: false)
        try folder.write(".ssh/id_ed25519", try folder.read("user"))
        let engine = try CurlEngine(
            .init(journalPath: folder.file("journal2"), userAgent: "dld-test", homeDirectory: folder.path))
        let ssh = Bench(bench, engine: engine)
        let base = "sftp://root@127.0.0.1:\(server.port)\(folder.path)"
        try await probeAndResume(ssh, base) { $0.network.knownHostsPath = folder.file("known") }
        for file in ["wrong", "nothing"] {
            let outcome = try await ssh.download("\(base)/file") { $0.network.knownHostsPath = folder.file(file) }
            guard case .transport(60, _) = outcome.end else { throw TestFailure("\(file): \(outcome.end)") }
        }
        await engine.shutdown()
        await bench.engine.shutdown()
    }

    // MARK: microsocks

    @Test(.enabled(if: RealServer.has("microsocks")))
    func goesThroughASOCKSProxyWithAPassword() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .keepAlive
        }
        let server = try await RealServer("microsocks", in: bench.folder) { port in
            ["-i", "127.0.0.1", "-p", "\(port)", "-u", "name", "-P", "word"]
        }
        for scheme in ["socks5", "socks5h"] {
            let outcome = try await bench.download(origin.url("/x")) {
                $0.network.proxy = "\(scheme)://name:word@127.0.0.1:\(server.port)"
            }
            #expect(outcome.end == .finished)
        }
        let refused = try await bench.download(origin.url("/x")) {
            $0.network.proxy = "socks5://name:wrong@127.0.0.1:\(server.port)"
        }
        guard case .transport(97, _) = refused.end else { throw TestFailure("\(refused.end)") }
        await bench.engine.shutdown()
    }
}
