import Testing
import TransferModel

@testable import TransferCore

struct StrategyRegistryTests {
    /// Parts would be answers too, and each might be the last.
    @Test func whoAcceptsAnyStatusAsksForNoParts() throws {
        var several = request()
        #expect(try StrategyRegistry.segmented(for: several, .fixed(8)) != nil)
        several.acceptsAnyStatus = true
        #expect(try StrategyRegistry.segmented(for: several, .fixed(8)) == nil)
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
