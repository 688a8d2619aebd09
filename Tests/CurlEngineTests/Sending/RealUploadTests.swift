import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// Uploads to real servers.
@Suite struct RealUploadTests {
    private static let content = pattern(6_000_000)
    private static let whole = Payload.source(offset: 0, length: 6_000_000)

    // MARK: nginx

    @Test(.enabled(if: Requirements.has("nginx")))
    func storesAFileByPUT() async throws {
        let bench = try Bench()
        let server = try await Nginx.start(
            extra: "client_max_body_size 7m; dav_methods PUT DELETE; create_full_put_path on;")
        let source = try bench.source(Self.content)
        let url = server.url("a/file")
        for expects in [false, true] {
            let outcome = await bench.request("PUT", url, Self.whole, sending: source) { $0.expectsContinue = expects }
            #expect(outcome.end == .finished)
            #expect(outcome.head?.status == (expects ? 204 : 201))
            #expect(outcome.sent == 6_000_000)
            #expect(try Files.read(server.folder.file("www/a/file")) == Self.content)
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

    @Test(
        .enabled(if: Requirements.isRoot && Requirements.has("vsftpd", "openssl")), arguments: [false, true])
    func storesAndAppendsOverFTP(tls: Bool) async throws {
        let bench = try Bench()
        let server = try await FTPServer.start(tls: tls)
        try await storeAndResume(bench, server.url("incoming"), server.folder.file("www/incoming")) {
            $0.network.trust(server.certificates?.authority)
        }
        await bench.engine.shutdown()
    }

    /// What every file protocol must do: a complete upload, an upload that replaces a file, the rest of a file, an
    /// empty file, and probes of a file that exists and of one that does not.
    private func storeAndResume(
        _ bench: Bench, _ base: String, _ root: String, _ change: (inout Exchange) -> Void
    ) async throws {
        func stored() throws -> [UInt8] { try Files.read("\(root)/file") }
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
        var begun = await bench.request("PUT", "\(base)/file", beginning, sending: source, change: change)
        // libcurl 7.88 may close the data connection of a short FTPS upload before the TLS 1.3 tickets of the server
        // arrive. The server's packets are then answered with a reset, and the rest of the upload is lost (426). A
        // strategy would resume. This test starts over.
        for _ in 0..<20 {
            guard case .transport(18, _) = begun.end, base.hasPrefix("ftps:") else { break }
            begun = await bench.request("PUT", "\(base)/file", beginning, sending: source, change: change)
        }
        #expect(begun.end == .finished)
        let probe = await bench.perform("\(base)/file", into: nil) {
            change(&$0)
            $0.kind = .probe
        }
        #expect(probe.head?.size == 2_500_001)
        // Nothing is appended if the file does not have the length that it had at the probe.
        for (name, wanted) in [("file", 2_500_000), ("file", 2_500_002), ("absent", 5)] as [(String, Int64)] {
            let moved = await bench.request(
                "PUT", "\(base)/\(name)", .source(offset: ByteCount(wanted), length: ByteCount(6_000_000 - wanted)),
                sending: source
            ) {
                change(&$0)
                $0.startOffset = ByteCount(wanted)
            }
            guard case .stopped(.restart(let error)) = moved.end else { throw TestFailure("\(moved.end)") }
            #expect(error.code == .validatorChanged)
            #expect(moved.sent == .zero)
            #expect(try stored() == Array(Self.content.prefix(2_500_001)))
        }
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

    @Test(.enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
    func storesAndResumesOverSFTP() async throws {
        let server = try await SFTPServer.start()
        let bench = try Bench(home: server.home)
        try server.folder.folder("www/store")
        try await storeAndResume(bench, server.url("store"), server.folder.file("www/store")) {
            $0.network.knownHostsPath = server.home + "/.ssh/known_hosts"
        }
        await bench.engine.shutdown()
    }
}
