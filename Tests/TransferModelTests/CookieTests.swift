import Testing
import TransferModel

struct CookieTests {
    private func decode(_ text: String) throws -> Cookie { try JSONCoding.decode(Cookie.self, from: Array(text.utf8)) }

    @Test func aDotMakesItForTheNamesBelow() throws {
        let cookie = try decode(#"{"name": "a", "value": "b", "domain": ".Example.org", "sameSite": "Lax"}"#)
        #expect(cookie == Cookie(name: "a", value: "b", domain: "example.org", sameSite: .lax, hostOnly: false))
        #expect(try decode(#"{"name": "a", "value": "b", "domain": "example.org"}"#).hostOnly)
    }

    @Test func refusesOtherMembersAndValues() {
        #expect(throws: (any Error).self) { try decode(#"{"name": "a", "value": "b"}"#) }
        #expect(throws: (any Error).self) {
            try decode(#"{"name": "a", "value": "b", "domain": "c.d", "sameSite": "odd"}"#)
        }
        #expect(throws: (any Error).self) { try decode(#"{"name": "a", "value": "b", "domain": "c.d", "port": 1}"#) }
    }
}
