import Testing
import TransferModel

@testable import TransferCore

/// RFC 9111 sections 3 and 4.4.
struct CacheRulesTests {
    private func head(_ status: Int, _ headers: [(String, String)]) -> ResponseHead {
        ResponseHead(url: "http://a.org/x", status: status, headers: headers.map { HeaderField($0.0, $0.1) })
    }

    @Test(
        arguments: [
            (200, [], true), (404, [], true), (410, [], true), (300, [], true), (201, [], false), (500, [], false),
            (201, [("Cache-Control", "max-age=1")], true), (500, [("Cache-Control", "max-age=1")], true),
            (503, [("Expires", "0")], true), (403, [("Cache-Control", "private")], true),
            (403, [("Cache-Control", "public")], true), (403, [("Cache-Control", "s-maxage=9")], false),
            (200, [("Cache-Control", "no-store")], false), (200, [("Cache-Control", "max-age=9, no-store")], false),
            (200, [("Cache-Control", "no-cache")], true), (200, [("Cache-Control", "private")], true),
            // Section 5.2.2.3.
            (200, [("Cache-Control", "no-store, must-understand")], true),
            (299, [("Cache-Control", "max-age=9, must-understand")], false),
            // Parts, redirects, validations, and answers to requests without credentials.
            (206, [("Cache-Control", "max-age=9")], false), (304, [("Cache-Control", "max-age=9")], false),
            (301, [("Cache-Control", "max-age=9")], false), (308, [], false), (103, [], false),
            (401, [("Cache-Control", "max-age=9")], false), (407, [("Cache-Control", "max-age=9")], false),
        ] as [(Int, [(String, String)], Bool)])
    func whatMayBeStored(_ status: Int, _ headers: [(String, String)], _ isStorable: Bool) {
        #expect(CacheRequest.isStorable(head(status, headers), request: CacheControl([])) == isStorable)
    }

    @Test func aRequestMayForbidIt() {
        #expect(!CacheRequest.isStorable(head(200, []), request: CacheControl(["no-store"])))
    }

    /// Section 3.1.
    @Test func fieldsOfTheConnectionAreNotKept() {
        let kept = CacheRequest.kept(
            head(
                200,
                [
                    ("Connection", "X, close"), ("X", "1"), ("Keep-Alive", "5"), ("Transfer-Encoding", "chunked"),
                    ("Proxy-Authenticate", "Basic"), ("Y", "2"),
                ]
            ).headers)
        #expect(kept == [HeaderField("Y", "2")])
    }

    /// Section 4.4.
    @Test(
        arguments: [
            ("POST", 200, [], ["http://a.org/x"]), ("PUT", 204, [], ["http://a.org/x"]),
            ("DELETE", 303, [], ["http://a.org/x"]), ("WHATEVER", 200, [], ["http://a.org/x"]),
            ("POST", 404, [], []), ("POST", 500, [], []), ("GET", 200, [], []), ("HEAD", 200, [], []),
            ("OPTIONS", 200, [], []),
            (
                "POST", 201, [("Location", "/y"), ("Content-Location", "http://a.org/z")],
                ["http://a.org/x", "http://a.org/y", "http://a.org/z"]
            ),
            // Stored answers of another origin do not change.
            (
                "POST", 201, [("Location", "https://a.org/y"), ("Content-Location", "http://b.org/z")],
                ["http://a.org/x"]
            ),
        ] as [(String, Int, [(String, String)], [String])])
    func whatARequestInvalidates(
        _ method: String, _ status: Int, _ headers: [(String, String)], _ urls: [String]
    ) {
        #expect(CacheRequest.invalidated(by: head(status, headers), method: method, url: "http://a.org/x") == urls)
    }
}
