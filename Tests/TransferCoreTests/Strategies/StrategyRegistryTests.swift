import Testing
import TransferModel

@testable import TransferCore

struct StrategyRegistryTests {
    /// Answers to parts would be accepted too, and each could end the task.
    @Test func whoAcceptsAnyStatusAsksForNoParts() throws {
        var several = request()
        #expect(try StrategyRegistry.segmented(for: several, .fixed(8)) != nil)
        several.acceptsAnyStatus = true
        #expect(try StrategyRegistry.segmented(for: several, .fixed(8)) == nil)
    }

    /// A single exchange can be split later exactly if the download could be segmented from the start.
    @Test func onlyWhatIsPartedFromTheStartMayBePartedLater() throws {
        func mayBeParted(_ request: StrategyRequest) throws -> Bool {
            try StrategyRegistry.download(for: request).parting != nil
        }
        var any = request()
        any.acceptsAnyStatus = true
        let requests = [
            request(), request("https://example.org/a"), request { $0.method = "POST" }, request("ftp://example.org/a"),
            request("data:,x"), request("file:///a"), any,
        ]
        for request in requests {
            #expect(try mayBeParted(request) == (StrategyRegistry.segmented(for: request, .fixed(2)) != nil))
        }
        #expect(try mayBeParted(request()))
    }

    @Test func plaintextIsRefusedWhereForbidden() {
        for url in ["http://example.org/", "ftp://example.org/f"] {
            var refused = request(url)
            refused.network.allowsPlaintext = false
            let error = #expect(throws: TransferError.self) { try StrategyRegistry.download(for: refused) }
            #expect(error?.code == .plaintextRefused)
        }
        for url in ["https://example.org/", "sftp://example.org/f", "ftps://example.org/f", "file:///f", "data:,x"] {
            var allowed = request(url)
            allowed.network.allowsPlaintext = false
            #expect(throws: Never.self) { try StrategyRegistry.download(for: allowed) }
        }
    }

    @Test func uploadsNeedASource() {
        let error = #expect(throws: TransferError.self) {
            try StrategyRegistry.upload(for: request { $0.kind = .upload })
        }
        #expect(error?.code == .badField)
    }

    @Test func dataTasksSpeakHTTPOnly() {
        let error = #expect(throws: TransferError.self) {
            try StrategyRegistry.upload(for: request("ftp://example.org/f") { $0.kind = .data })
        }
        #expect(error?.code == .unsupported)
    }

    @Test func userInfoNeverReachesTheExchangeURL() throws {
        for url in ["https://u:p@example.org/f", "ftp://u:p@example.org/f", "sftp://u:p@example.org/f"] {
            var strategy = try StrategyRegistry.download(for: request(url))
            guard case .run(let exchange) = strategy.next(after: nil) else {
                Issue.record("no exchange")
                return
            }
            #expect(!exchange.url.contains("@"))
            #expect(exchange.network.username == "u")
            #expect(exchange.network.password == "p")
        }
    }
}
