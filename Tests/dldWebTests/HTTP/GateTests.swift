import NIOHTTP1
import Testing

@testable import dld_web

@Suite struct GateTests {
    private static let rules = Gate.Rules(
        own: 1000, allowed: [33], metrics: [115], hosts: ["files.example", "other.example:444"], port: 8353,
        bearer: "t0ken")

    struct Case: Sendable, CustomTestStringConvertible {
        var peer = Gate.Peer.user(1000)
        var method = HTTPMethod.GET
        var target = "/session"
        var headers: [(String, String)] = [("Host", "127.0.0.1:8353")]
        /// 0: it passes.
        var status: UInt = 0

        var testDescription: String { "\(peer) \(method) \(target) \(headers)" }
    }

    private static let host = ("Host", "127.0.0.1:8353")

    private static let cases: [Case] = [
        Case(),
        // The peer: root is not special, and nobody without a user passes.
        Case(peer: .user(0), status: 403), Case(peer: .user(1001), status: 403), Case(peer: .unknown, status: 403),
        Case(peer: .user(33)), Case(peer: .user(115), status: 403),
        Case(peer: .remote, headers: [("Host", "files.example")]),
        Case(peer: .user(115), target: "/metrics"), Case(peer: .user(33), target: "/metrics", status: 403),
        Case(peer: .user(0), target: "/metrics", headers: [host, ("Authorization", "Bearer t0ken")]),
        Case(peer: .user(0), target: "/metrics", headers: [host, ("Authorization", "bearer t0ken")]),
        Case(peer: .user(0), target: "/metrics", headers: [host, ("Authorization", "Bearer t0keN")], status: 403),
        Case(peer: .user(0), target: "/metrics", headers: [host, ("Authorization", "Basic t0ken")], status: 403),
        Case(peer: .user(0), target: "/session", headers: [host, ("Authorization", "Bearer t0ken")], status: 403),
        Case(peer: .user(4), target: "/healthz"),
        // Names.
        Case(headers: [("Host", "localhost:8353")]), Case(headers: [("Host", "[::1]:8353")]),
        Case(headers: [("Host", "FILES.example")]), Case(headers: [("Host", "files.example:8353")]),
        Case(headers: [("Host", "files.example:80")], status: 421), Case(headers: [("Host", "other.example:444")]),
        Case(headers: [("Host", "other.example")], status: 421), Case(headers: [("Host", "127.0.0.1")], status: 421),
        Case(headers: [("Host", "127.0.0.1:80")], status: 421), Case(headers: [("Host", "evil.example")], status: 421),
        Case(headers: [], status: 421), Case(headers: [host, host], status: 421),
        // Pages.
        Case(headers: [host, ("Origin", "http://127.0.0.1:8353")]),
        Case(headers: [host, ("Origin", "null")], status: 403),
        Case(headers: [host, ("Origin", "http://localhost:8353")], status: 403),
        Case(headers: [host, ("Origin", "https://127.0.0.1:8353")], status: 403),
        Case(headers: [host, ("Origin", "http://127.0.0.1:8353"), ("Origin", "http://evil.example")], status: 403),
        Case(headers: [host, ("Sec-Fetch-Site", "same-origin")]), Case(headers: [host, ("Sec-Fetch-Site", "none")]),
        Case(headers: [host, ("Sec-Fetch-Site", "same-site")], status: 403),
        Case(headers: [host, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")], status: 403),
        Case(target: "/", headers: [host, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")]),
        Case(target: "/login?key=a", headers: [host, ("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "navigate")]),
        Case(target: "/", headers: [host, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")], status: 403),
        Case(
            method: .HEAD, target: "/",
            headers: [host, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")],
            status: 403),
        // The peer comes first, then the name, then the page.
        Case(peer: .user(0), headers: [("Host", "evil.example"), ("Origin", "null")], status: 403),
        Case(headers: [("Host", "evil.example"), ("Origin", "null")], status: 421),
        // A proxy says the name and the scheme; nobody else does.
        Case(peer: .user(33), headers: [host, ("X-Forwarded-Host", "files.example")]),
        Case(peer: .user(33), headers: [host, ("X-Forwarded-Host", "evil.example")], status: 421),
        Case(headers: [host, ("X-Forwarded-Host", "evil.example")]),
        Case(
            peer: .user(33),
            headers: [
                host, ("X-Forwarded-Host", "files.example"), ("X-Forwarded-Proto", "https"),
                ("Origin", "https://files.example"),
            ]),
        Case(headers: [host, ("X-Forwarded-Proto", "https"), ("Origin", "https://127.0.0.1:8353")], status: 403),
        Case(peer: .user(33), headers: [host, ("X-Forwarded-Prefix", "/a\"b")], status: 400),
        Case(peer: .user(33), headers: [host, ("X-Forwarded-Prefix", "//evil")], status: 400),
    ]

    @Test(arguments: cases) func whoMayPass(_ test: Case) throws {
        let head = HTTPRequestHead(
            version: .http1_1, method: test.method, uri: test.target, headers: HTTPHeaders(test.headers))
        let gate = Gate(rules: Self.rules, peer: test.peer)
        let target = try WebTarget(test.target)
        guard test.status > 0 else {
            _ = try gate.pass(head, target)
            return
        }
        let refusal = #expect(throws: WebRefusal.self) { try gate.pass(head, target) }
        #expect(refusal?.status.code == test.status)
    }

    @Test func theProxysPrefixIsTakenOff() throws {
        func path(_ prefix: String, _ target: String) throws -> String {
            let head = HTTPRequestHead(
                version: .http1_1, method: .GET, uri: target,
                headers: [
                    "Host": "files.example", "X-Forwarded-Prefix": prefix,
                ])
            return try Gate(rules: Self.rules, peer: .user(33)).pass(head, WebTarget(target)).path
        }
        #expect(try path("/dld", "/dld/app.js") == "/app.js")
        #expect(try path("/dld/", "/dld/") == "/")
        #expect(try path("/dld", "/app.js") == "/app.js")
        #expect(try path("/dld", "/dldx") == "/dldx")
    }

    @Test(arguments: [
        "", "app.js", "*", "http://evil.example/", "/a/../b", "/..", "/%2e%2e/a", "/%2E./a", "/a\\b", "/%5c", "/a%00",
        "/%",
        "/%2", "/%zz", "/a b", "/a#b", "/ä", "/%ff", "/?a=%", "/.",
    ])
    func strangePathsAreRefused(_ target: String) {
        #expect(throws: WebRefusal.self) { try WebTarget(target) }
    }

    @Test func pathsAndQueriesAreDecoded() throws {
        let target = try WebTarget("/a%20b/%C3%A4?x=1+2&y=%2B&x=3&z")
        #expect(target.path == "/a b/ä")
        #expect(target.query == ["x": "1 2", "y": "+", "z": ""])
    }
}
