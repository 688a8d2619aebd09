import Foundation
import TestSupport
import Testing
import TransferCore
import TransferModel

extension EndToEnd.Remembering {
    /// Compares cookies with another implementation of the rules, Python's http.cookiejar, for fields and URLs on which
    /// both agree (no public suffixes, `Secure` over https only, paths that begin with a slash, no SameSite).
    struct CookieOracle {
        private struct Case: Codable {
            /// URLs and Set-Cookie fields, in order.
            var sets: [[String]]
            var asks: [String]
        }

        /// Reads cases, and writes for each the Cookie fields of its `asks`, sorted.
        private static let program = """
            import email.message, http.cookiejar, json, sys, urllib.request
            class Answer:
                def __init__(self, field):
                    self.message = email.message.Message()
                    self.message["Set-Cookie"] = field
                def info(self):
                    return self.message
            def fields(case):
                policy = http.cookiejar.DefaultCookiePolicy(
                    strict_ns_domain=http.cookiejar.DefaultCookiePolicy.DomainStrictNonDomain)
                jar = http.cookiejar.CookieJar(policy)
                for url, field in case["sets"]:
                    jar.extract_cookies(Answer(field), urllib.request.Request(url))
                found = []
                for url in case["asks"]:
                    request = urllib.request.Request(url)
                    jar.add_cookie_header(request)
                    found.append(sorted((request.get_header("Cookie") or "").split("; ")))
                return found
            with open(sys.argv[1]) as file:
                print(json.dumps([fields(case) for case in json.load(file)]))
            """

        private static let hosts = ["a.org", "b.a.org", "c.b.a.org", "xa.org", "b.org"]
        private static let paths = ["/", "/x", "/x/", "/x/y", "/xy", "/x/y/z"]
        /// At most one of each kind: if there are several, the implementations use different ones.
        private static let attributes = [
            ["; Domain=a.org", "; Domain=.a.org", "; domain=b.a.org", "; DOMAIN=B.A.ORG", "; Domain=org"],
            ["; Path=/", "; Path=/x", "; path=/x/", "; Path=/x/y"],
            [
                "; Max-Age=60", "; Max-Age=0", "; Max-Age=-5", "; Expires=Wed, 01 Jan 2098 00:00:00 GMT",
                "; Expires=Thu, 01 Jan 1998 00:00:00 GMT",
            ],
            ["; Secure", "; HttpOnly", "; Unknown=1"],
        ]

        private static func makeCase(_ random: inout SeededGenerator) -> Case {
            func one(_ list: [String]) -> String { list.randomElement(using: &random) ?? "" }
            let sets = (0..<Int.random(in: 1...6, using: &random)).map { number in
                let host = one(hosts)
                var chosen = attributes.filter { _ in Bool.random(using: &random) }.map(one)
                // The other implementation lets any site expire the cookies of others.
                let domain = chosen.first { $0.lowercased().hasPrefix("; domain=") }?.lowercased().dropFirst(9)
                if let domain, !host.hasSuffix(domain.first == "." ? domain.dropFirst() : domain) || host == "xa.org" {
                    chosen.removeAll { $0.hasPrefix("; Max-Age") || $0.hasPrefix("; Expires") }
                }
                return ["https://\(host)\(one(paths))", "\(one(["k", "l", "m"]))=\(number)\(chosen.joined())"]
            }
            return Case(sets: sets, asks: (0..<6).map { _ in "\(one(["http", "https"]))://\(one(hosts))\(one(paths))" })
        }

        @Test(.timeLimit(.minutes(2))) func bothReadingsSendTheSame() async throws {
            var random = SeededGenerator(announcing: "cookie oracle")
            let cases = (0..<2000).map { _ in Self.makeCase(&random) }
            let folder = try TemporaryFolder()
            try Files.write(folder.file("cases"), String(decoding: try JSONEncoder().encode(cases), as: UTF8.self))
            let (status, output) = try await Program.run(["python3", "-c", Self.program, folder.file("cases")])
            #expect(status == 0, "\(output.suffix(400))")
            let expected = try JSONDecoder().decode([[[String]]].self, from: Data(output.utf8))
            #expect(expected.count == cases.count)
            let now = Timestamp.now()
            var sent = 0
            for (one, fields) in zip(cases, expected) {
                var jar = CookieJar()
                for set in one.sets { _ = jar.receive(set[1], from: try #require(CookieURL(set[0])), at: now) }
                for (url, wanted) in zip(one.asks, fields) {
                    let field = jar.field(for: CookieRequest(try #require(CookieURL(url))), at: now) ?? ""
                    let found = field.split(separator: "; ", omittingEmptySubsequences: false).map(String.init).sorted()
                    sent += field.isEmpty ? 0 : 1
                    guard found != wanted else { continue }
                    Issue.record("\(url) is sent \(found), by the other reading \(wanted): \(one.sets)")
                    return
                }
            }
            // Cases that never send a cookie would agree too.
            #expect(sent > 1000)
        }
    }
}
