import Testing
import TransferModel

@testable import TransferCore

struct CredentialsTests {
    private func resolved(
        url: String = "https://u%40x:p%3A@example.org/", headers: [HeaderField] = [],
        _ change: (inout NetworkOptions) -> Void
    ) throws -> NetworkOptions {
        var network = NetworkOptions()
        change(&network)
        network.chooseCredentials(for: try URLRules.parse(url), headers)
        return network
    }

    private func all(_ network: inout NetworkOptions) {
        network.bearer = "b"
        network.username = "u"
        network.password = "p"
        network.netrcPath = "/n"
    }

    @Test func anExplicitHeaderWins() throws {
        let network = try resolved(headers: [HeaderField("authorization", "Basic x")], all)
        #expect(network == NetworkOptions())
    }

    @Test func thenTheBearer() throws {
        let network = try resolved(all)
        #expect(network.bearer == "b")
        #expect(network.username == nil && network.password == nil && network.netrcPath == nil)
    }

    @Test func thenTheUserName() throws {
        let network = try resolved {
            all(&$0)
            $0.bearer = nil
        }
        #expect(network.username == "u")
        #expect(network.netrcPath == nil)
    }

    @Test func thenTheURLAndLastNetrc() throws {
        let fromURL = try resolved { $0.netrcPath = "/n" }
        #expect(fromURL.username == "u@x")
        #expect(fromURL.password == "p:")
        #expect(fromURL.netrcPath == nil)
        #expect(try resolved(url: "https://example.org/") { $0.netrcPath = "/n" }.netrcPath == "/n")
    }

    @Test func aBearerMeansNothingToFTP() throws {
        let network = try resolved(url: "ftp://example.org/f", all)
        #expect(network.bearer == nil)
        #expect(network.username == "u")
    }
}
