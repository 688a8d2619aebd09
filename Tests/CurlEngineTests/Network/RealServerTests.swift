import Foundation
import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// The protocols that need a real server: TLS with HTTP/2, FTP, SFTP, SOCKS.
@Suite struct RealServerTests {
    private static let file = pattern(2 << 20)

    // MARK: nginx

    @Test(.enabled(if: Requirements.has("nginx", "openssl")))
    func downloadsOverTLSAndHTTP2() async throws {
        let bench = try Bench()
        let server = try await Nginx.start(tls: true, extra: "ssl_protocols TLSv1.2;")
        try server.publish("file", bytes: Self.file)
        let url = server.tlsURL("file")
        let authority = try #require(server.certificates?.authority)
        let outcome = try await bench.download(url) { $0.network.trust(authority) }
        #expect(outcome.end == .finished)
        #expect(outcome.head?.httpVersion == "2")
        #expect(try bench.folder.read("part") == Self.file)

        let older = try await bench.download(url) {
            $0.network.trust(authority)
            $0.network.httpVersion = .v11
            $0.headers = [HeaderField("Range", "bytes=5-")]
        }
        #expect(older.head?.httpVersion == "1.1")
        #expect(older.head?.status == 206)

        let upload = await bench.request("PUT", url, .bytes([1])) { $0.network.trust(authority) }
        #expect(upload.head?.status == 405)
        #expect(upload.head?.httpVersion == (CurlVersion.current.uploadsSafelyOverHTTP2 ? "2" : "1.1"))

        guard case .transport(60, _) = try await bench.download(url).end else { throw TestFailure("trusted") }
        let strict = try await bench.download(url) {
            $0.network.trust(authority)
            $0.network.tlsMinimumVersion = .v13
        }
        guard case .transport(35, _) = strict.end else { throw TestFailure("\(strict.end)") }
        await bench.engine.shutdown()
    }

    /// Handles whose connection is still shared by other transfers are reused.
    @Test(.enabled(if: Requirements.has("nginx", "openssl")))
    func manyDownloadsShareAnHTTP2Connection() async throws {
        let bench = try Bench()
        let server = try await Nginx.start(tls: true)
        let bytes = pattern(4096)
        try server.publish("file", bytes: bytes)
        let (url, authority) = (server.tlsURL("file"), try #require(server.certificates?.authority))
        for round in 0..<4 {
            let outcomes = try await withThrowingTaskGroup(of: ExchangeOutcome.self) { group in
                for number in 0..<30 {
                    let part = try bench.plannedPart("part-\(round)-\(number)")
                    group.addTask { await bench.perform(url, into: part) { $0.network.trust(authority) } }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count == 30)
            for outcome in outcomes {
                #expect(outcome.end == .finished)
                #expect(outcome.head?.httpVersion == "2")
                #expect(outcome.gathered == bytes)
            }
        }
        await bench.engine.shutdown()
    }

    // MARK: vsftpd

    /// A file with a known time, and an empty file.
    private func publish(_ server: ServerProcess) throws {
        let path = try server.publish("file", bytes: Self.file)
        try server.publish("empty", bytes: [])
        var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
        #expect(utimes(path, &times) == 0)
    }

    @Test(
        .enabled(if: Requirements.isRoot && Requirements.has("vsftpd", "openssl")), arguments: [false, true])
    func probesAndResumesOverFTP(tls: Bool) async throws {
        let bench = try Bench()
        let server = try await FTPServer.start(tls: tls)
        try publish(server)
        // A download over FTP does not know the size. Only the server says where the file ends.
        try await probeAndResume(bench, server.url, tellsSize: false) {
            $0.network.trust(server.certificates?.authority)
        }
        await bench.engine.shutdown()
    }

    /// What every file protocol must do: a probe, a complete download, the rest of a file, an empty file and a missing
    /// file.
    private func probeAndResume(
        _ bench: Bench, _ url: (String) -> String, tellsSize: Bool = true, _ change: (inout Exchange) -> Void
    ) async throws {
        let size = tellsSize ? ByteCount(2 << 20) : nil
        let probe = await bench.perform(url("file"), into: nil) {
            change(&$0)
            $0.kind = .probe
        }
        #expect(probe.end == .finished)
        #expect(probe.head?.size == ByteCount(2 << 20))
        #expect(probe.head?.modificationTime == 1_000_000_000)

        let whole = try await bench.download(url("file"), change: change)
        #expect(whole.end == .finished)
        #expect(whole.head?.size == size)
        #expect(whole.head?.modificationTime == 1_000_000_000)
        #expect(try bench.folder.read("part") == Self.file)

        let part = try bench.part("rest")
        let handle = try #require(FileHandle(forWritingAtPath: part.path))
        try handle.write(contentsOf: Data(Self.file[..<1_000_000]))
        let rest = await bench.perform(url("file"), into: part, judge: .taking(offset: 1_000_000)) {
            change(&$0)
            $0.startOffset = 1_000_000
        }
        #expect(rest.end == .finished)
        #expect(rest.head?.size == size)
        #expect(rest.received == ByteCount((2 << 20) - 1_000_000))
        #expect(try bench.folder.read("rest") == Self.file)

        let empty = try await bench.download(url("empty"), change: change)
        #expect(empty.end == .finished)
        #expect(empty.offset == .zero)
        guard case .transport = try await bench.download(url("missing"), change: change).end else {
            throw TestFailure("a missing file was found")
        }
    }

    // MARK: sshd

    @Test(.enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
    func probesAndResumesOverSFTPFromKnownHostsOnly() async throws {
        let server = try await SFTPServer.start()
        try publish(server)
        let bench = try Bench(home: server.home)
        let key = try Files.text(server.home + "/.ssh/id_ed25519.pub")
        try bench.folder.write("wrong", Array("[127.0.0.1]:\(server.port) \(key)".utf8))
        try await probeAndResume(bench, server.url) { $0.network.knownHostsPath = server.home + "/.ssh/known_hosts" }
        for file in ["wrong", "nothing"] {
            let outcome = try await bench.download(server.url("file")) {
                $0.network.knownHostsPath = bench.folder.file(file)
            }
            guard case .transport(60, _) = outcome.end else { throw TestFailure("\(file): \(outcome.end)") }
        }
        await bench.engine.shutdown()
    }

    /// libcurl tells the server inside its own call that the session ends, and waits for the answer for ever. All
    /// transfers would wait with it.
    @Test(
        .timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
    func anSFTPServerThatHangsHoldsUpNobodyForLong() async throws {
        let server = try await SFTPServer.start()
        try publish(server)
        let relay = try SilentRelay(to: server.port, after: 1 << 20)
        let bench = try Bench(home: server.home)
        let hanging = try await bench.download(server.url("file", host: SilentRelay.host)) {
            $0.network.knownHostsPath = server.home + "/.ssh/known_hosts"
            $0.network.stallTimeout = 5
        }
        #expect(hanging.end == .stalled)
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .keepAlive
        }
        #expect(try await bench.download(origin.url("/x")).end == .finished)
        await bench.engine.shutdown()
        withExtendedLifetime(relay) {}
    }

    // MARK: microsocks

    @Test(.enabled(if: Requirements.has("microsocks")))
    func goesThroughASOCKSProxyWithAPassword() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .keepAlive
        }
        let server = try await Microsocks.start()
        for scheme in ["socks5", "socks5h"] {
            let outcome = try await bench.download(origin.url("/x")) { $0.network.proxy = server.url(scheme: scheme) }
            #expect(outcome.end == .finished)
        }
        let refused = try await bench.download(origin.url("/x")) { $0.network.proxy = server.url(password: "wrong") }
        guard case .transport(97, _) = refused.end else { throw TestFailure("\(refused.end)") }
        await bench.engine.shutdown()
    }
}
