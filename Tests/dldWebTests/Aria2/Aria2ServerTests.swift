import NIOHTTP1
import Testing
import TransferModel

@testable import dld_web

struct Aria2ServerTests {
    private static let host = ("Host", "127.0.0.1:6800")

    private let server = Aria2Server(
        Aria2Endpoint.Surroundings(call: { _, _ in .null }, secret: "s3"),
        rules: { Gate.Rules(own: 7, allowed: [8], port: 6800) })

    private func admit(
        _ headers: [(String, String)], _ peer: Gate.Peer = .user(7), uri: String = "/jsonrpc"
    ) throws(WebRefusal) -> Aria2Server.Admission {
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: uri, headers: HTTPHeaders(headers))
        return try server.admit(head, peer)
    }

    /// A page, a proxy and another user need the secret. A library for WebSockets sends the server's own origin.
    @Test(
        arguments: [
            ([], .user(7), true, true), ([], .user(8), false, false), ([], .remote, false, false),
            ([("Origin", "https://a.example")], .user(7), false, false), ([("Origin", "null")], .user(7), false, false),
            ([("Sec-Fetch-Site", "cross-site")], .user(7), false, false),
            ([("Sec-Fetch-Site", "none")], .user(7), false, false),
            ([("X-Forwarded-For", "::1")], .user(7), false, false), ([("Forwarded", "for=x")], .user(7), false, false),
            ([("Origin", "http://127.0.0.1:6800")], .user(7), false, true),
            ([("Origin", "http://127.0.0.1:6800")], .user(8), false, false),
            ([("Origin", "http://127.0.0.1:6800"), ("Sec-Fetch-Site", "same-origin")], .user(7), false, false),
        ] as [([(String, String)], Gate.Peer, Bool, Bool)])
    func knowsWhoNeedsTheSecret(
        headers: [(String, String)], peer: Gate.Peer, isTrusted: Bool, mayListen: Bool
    ) throws {
        let admission = try admit([Self.host] + headers, peer)
        #expect(admission.isTrusted == isTrusted)
        #expect(admission.mayListen == mayListen)
    }

    @Test func refusesOtherUsersNamesAndPaths() {
        #expect(throws: WebRefusal.foreignUser) { try admit([Self.host], .user(9)) }
        #expect(throws: WebRefusal.foreignUser) { try admit([Self.host], .unknown) }
        #expect(throws: WebRefusal.misdirected) { try admit([("Host", "a.example:6800")]) }
        #expect(throws: WebRefusal.misdirected) { try admit([]) }
        #expect(throws: WebRefusal.misdirected) { try admit([Self.host, Self.host]) }
        #expect(throws: WebRefusal.notFound) { try admit([Self.host], uri: "/") }
    }

    /// The origin becomes a header of the answer.
    @Test(
        arguments: [
            ("https://a.example:8", "https://a.example:8"), ("null", "null"), ("http://[::1]:8", "http://[::1]:8"),
            ("http://a b", nil), ("http://ä", nil), ("a\"", nil),
        ] as [(String, String?)])
    func onlyPlainOriginsComeBack(origin: String, expected: String?) throws {
        #expect(try admit([Self.host, ("Origin", origin)]).origin == expected)
    }

    @Test func aQueryIsDecoded() throws {
        #expect(try admit([Self.host], uri: "/jsonrpc?params=W10%3D&id=a").query == ["params": "W10=", "id": "a"])
    }
}
