import Foundation
import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// What the engine reports of each exchange, with real servers.
@Suite struct MetricsTests {
    private func origin(_ body: String = "ok") throws -> ScriptedServer {
        try ScriptedServer { request, connection in
            switch request.target {
            case "/redirect":
                connection.send("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 5\r\n\r\nthere")
            case "/lost": return .close
            default: connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
            return .keepAlive
        }
    }

    /// Checks that the steps follow each other and that none is outside the exchange.
    private func expectOrder(_ entry: ExchangeMetrics) {
        let steps = [entry.domainLookup, entry.connect, entry.secureConnection, entry.request].compactMap { $0 }
        for step in steps { #expect(0 <= step.start && step.start <= step.end) }
        for (step, next) in zip(steps, steps.dropFirst()) { #expect(step.end <= next.start, "\(entry)") }
        if let response = entry.response { #expect(entry.request.map { $0.start <= response.start } ?? true) }
    }

    @Test func tellsOfANewAndOfAReusedConnection() async throws {
        let bench = try Bench()
        let origin = try origin()
        let before = Int64(Date().timeIntervalSince1970 * 1e6) - 1_000_000
        for _ in 0..<2 { #expect(try await bench.download(origin.url("/x")).end == .finished) }
        await bench.engine.shutdown()
        let metrics = bench.observer.heard.metrics
        try #require(metrics.count == 2)
        for entry in metrics {
            expectOrder(entry)
            #expect(entry.fetchStart >= before && entry.fetchStart < before + 600_000_000)
            #expect(entry.transferProtocol == .http11)
            #expect(entry.remote == ExchangeMetrics.Endpoint("127.0.0.1", UInt16(origin.port)))
            #expect(entry.local?.address == "127.0.0.1")
            #expect(entry.request != nil && entry.response != nil)
            #expect(entry.secureConnection == nil && entry.tls == nil && entry.proxy == nil)
            #expect(entry.requestHeaderBytes > 20 && entry.requestBodyBytes == 0)
            #expect(entry.responseHeaderBytes == Int64("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n".utf8.count))
            #expect(entry.responseBodyBytes == 2)
        }
        #expect(!metrics[0].isReused && metrics[0].domainLookup != nil && metrics[0].connect != nil)
        #expect(metrics[1].isReused && metrics[1].domainLookup == nil && metrics[1].connect == nil)
        #expect(metrics[0].local == metrics[1].local)
        #expect(metrics[0].fetchStart <= metrics[1].fetchStart)
    }

    @Test func eachHopOfARedirectIsAnExchange() async throws {
        let bench = try Bench()
        let origin = try origin()
        #expect(try await bench.download(origin.url("/redirect")).end == .finished)
        await bench.engine.shutdown()
        let metrics = bench.observer.heard.metrics
        try #require(metrics.count == 2)
        for entry in metrics { expectOrder(entry) }
        #expect(metrics.map(\.responseBodyBytes) == [5, 2])
        #expect(metrics.map(\.isReused) == [false, true])
        #expect(metrics[0].fetchStart + (metrics[0].response?.end ?? 0) <= metrics[1].fetchStart + 1)
    }

    @Test func aChallengeAndItsAnswerAreTwoExchanges() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { request, connection in
            let isKnown = request.header("Authorization") != nil
            connection.send(
                isKnown
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                    : "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
                        + "Content-Length: 6\r\n\r\ndenied")
            return .keepAlive
        }
        let outcome = try await bench.download(origin.url("/x")) {
            ($0.network.username, $0.network.password) = ("user", "p:ss")
        }
        #expect(outcome.end == .finished)
        await bench.engine.shutdown()
        let metrics = bench.observer.heard.metrics
        try #require(metrics.count == 2)
        for entry in metrics { expectOrder(entry) }
        #expect(metrics.map(\.responseBodyBytes) == [6, 2])
        #expect(metrics.map(\.isReused) == [false, true])
        #expect(metrics[0].requestHeaderBytes < metrics[1].requestHeaderBytes)
        #expect(metrics[1].requestHeaderBytes < 2 * metrics[0].requestHeaderBytes + 300)
        #expect(metrics[0].fetchStart + (metrics[0].response?.end ?? 0) <= metrics[1].fetchStart + 1)
    }

    @Test func aRefusedConnectionHasLookupAndConnectOnly() async throws {
        let bench = try Bench()
        let port = try ListeningSocket.freePort()
        guard case .transport(7, _) = try await bench.download("http://127.0.0.1:\(port)/").end else {
            throw TestFailure("connected")
        }
        await bench.engine.shutdown()
        let metrics = bench.observer.heard.metrics
        try #require(metrics.count == 1)
        expectOrder(metrics[0])
        #expect(metrics[0].domainLookup != nil && metrics[0].connect != nil)
        #expect(metrics[0].request == nil && metrics[0].response == nil && metrics[0].transferProtocol == nil)
        #expect(!metrics[0].isReused)
    }

    @Test func aLookupThatFailedIsTold() async throws {
        let bench = try Bench()
        guard case .transport(6, _) = try await bench.download("http://nobody.invalid/").end else {
            throw TestFailure("found")
        }
        await bench.engine.shutdown()
        let metrics = bench.observer.heard.metrics
        #expect(metrics.count == 1)
        #expect(metrics.first?.domainLookup != nil && metrics.first?.connect == nil)
        #expect(metrics.first?.remote == nil)
    }

    @Test func aRequestWithoutAnAnswerHasNoResponse() async throws {
        let bench = try Bench()
        let origin = try origin()
        guard case .transport = try await bench.download(origin.url("/lost")).end else { throw TestFailure("answered") }
        await bench.engine.shutdown()
        let entry = try #require(bench.observer.heard.metrics.first)
        #expect(entry.request != nil && entry.response == nil && entry.responseBodyBytes == 0)
    }

    @Test func aBodyThatIsSentCounts() async throws {
        let bench = try Bench()
        let origin = try origin()
        let outcome = await bench.request("PUT", origin.url("/x"), .bytes(pattern(5000)))
        #expect(outcome.head?.status == 200)
        await bench.engine.shutdown()
        let entry = try #require(bench.observer.heard.metrics.last)
        expectOrder(entry)
        #expect(entry.requestBodyBytes == 5000)
        #expect((20..<1000).contains(entry.requestHeaderBytes))
    }

    /// The engine reads long bodies from their sockets itself, without libcurl.
    @Test func aBodyThatLibcurlDoesNotReadCounts() async throws {
        let bench = try Bench()
        let piece = pattern(1 << 20)
        let sent = Guarded<Date?>(nil)
        let origin = try ScriptedServer { [counters = bench.counters] _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(18 << 20)\r\n\r\n")
            for index in 0..<18 {
                if index > 1 { while counters.bytesReceived != ByteCount(Int64(index << 20)) { usleep(1000) } }
                sent.withLock { $0 = Date() }
                if !connection.send(piece) { return .close }
            }
            return .keepAlive
        }
        let began = Date()
        #expect(try await bench.download(origin.url("/")).end == .finished)
        let lasted = Int64(Date().timeIntervalSince(began) * 1e6)
        await bench.engine.shutdown()
        let entry = try #require(bench.observer.heard.metrics.first)
        #expect(bench.observer.heard.metrics.count == 1)
        expectOrder(entry)
        #expect(entry.responseBodyBytes == 18 << 20)
        let response = try #require(entry.response)
        // Its end is reported only when all of it was read.
        let lastSent = try #require(sent.withLock { $0 }).timeIntervalSince1970 * 1e6
        #expect(response.end <= lasted && Double(entry.fetchStart + response.end + 2000) >= lastSent)
    }

    @Test func tellsTheProxy() async throws {
        let bench = try Bench()
        let proxy = try origin()
        let address = "http://u:p@127.0.0.1:\(proxy.port)"
        let outcome = try await bench.download("http://origin.invalid/x") { $0.network.proxy = address }
        #expect(outcome.end == .finished)
        await bench.engine.shutdown()
        let entry = try #require(bench.observer.heard.metrics.first)
        #expect(entry.proxy == "127.0.0.1:\(proxy.port)")
        #expect(entry.remote == ExchangeMetrics.Endpoint("127.0.0.1", UInt16(proxy.port)))
    }

    @Test(.enabled(if: Requirements.has("nginx", "openssl")))
    func tellsHTTP2AndTLS() async throws {
        let bench = try Bench()
        let server = try await Nginx.start(tls: true, extra: "ssl_protocols TLSv1.2;")
        try server.publish("file", bytes: pattern(5000))
        let authority = try #require(server.certificates?.authority)
        for _ in 0..<2 {
            let outcome = try await bench.download(server.tlsURL("file")) { $0.network.trust(authority) }
            #expect(outcome.end == .finished)
        }
        guard case .transport(60, _) = try await bench.download(server.tlsURL("file")).end else {
            throw TestFailure("trusted")
        }
        await bench.engine.shutdown()
        let metrics = bench.observer.heard.metrics
        try #require(metrics.count == 3)
        for entry in metrics { expectOrder(entry) }
        for entry in metrics.prefix(2) {
            #expect(entry.transferProtocol == .http2)
            #expect(entry.tls?.version == "TLSv1.2")
            #expect(entry.tls?.cipher.contains("GCM") == true || entry.tls?.cipher.contains("POLY1305") == true)
            #expect(entry.responseBodyBytes == 5000)
            #expect(entry.requestHeaderBytes > 20)
        }
        #expect(metrics.map(\.isReused) == [false, true, false])
        #expect(metrics.prefix(2).map { $0.secureConnection != nil } == [true, false])
        // Nothing was negotiated with a server that is not trusted. How long that took is not always reported.
        #expect(
            metrics[2].connect != nil && metrics[2].request == nil && metrics[2].response == nil
                && metrics[2].tls == nil)
    }

    @Test(.enabled(if: Requirements.isRoot && Requirements.has("vsftpd", "openssl")))
    func tellsOfFTP() async throws {
        let bench = try Bench()
        let server = try await FTPServer.start(tls: true)
        try server.publish("file", bytes: pattern(5000))
        let outcome = try await bench.download(server.url("file")) { $0.network.trust(server.certificates?.authority) }
        #expect(outcome.end == .finished)
        await bench.engine.shutdown()
        let entry = try #require(bench.observer.heard.metrics.first)
        expectOrder(entry)
        #expect(entry.transferProtocol == .ftps || entry.transferProtocol == .ftp)
        #expect(entry.connect != nil && entry.secureConnection != nil)
        #expect(entry.request != nil && entry.response != nil)
        #expect(entry.responseBodyBytes == 5000)
    }
}
