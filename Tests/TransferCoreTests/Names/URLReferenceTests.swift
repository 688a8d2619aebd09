import Testing
import TransferModel

@testable import TransferCore

struct URLReferenceTests {
    /// RFC 3986 section 5.4, for the references whose result is an HTTP URL.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), ("./g/.", "http://a/b/c/g/"),
        ("g/../h", "http://a/b/c/h"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("https://b:444/x", "https://b:444/x"),
    ])
    func resolvesAsTheRFCSays(_ reference: String, _ result: String) throws {
        #expect(try URLRules.resolve(reference, against: "http://a/b/c/d;p?q").requestURL == result)
    }

    @Test func userInfoIsNotKept() throws {
        let url = try URLRules.resolve("https://u:p@b/x", against: "http://a/")
        #expect(url.requestURL == "https://b/x")
    }

    @Test(arguments: ["ftp://a/x", "file:///etc/passwd", "javascript:1", "http://", "http://a b/", "data:,x"])
    func onlyHTTPIsFollowed(_ reference: String) {
        let error = #expect(throws: TransferError.self) {
            try URLRules.resolve(reference, against: "http://a/b")
        }
        #expect(error?.code == .httpProtocol)
    }

    @Test(arguments: [
        ("/up/a b?c d", "http://a/up/a%20b?c+d"), ("https://b/a b/c  d ", "https://b/a%20b/c%20%20d"),
        (" ?x y z", "http://a/b?x+y+z"), ("a%20b c", "http://a/a%20b%20c"),
    ])
    func spacesAreEncoded(_ reference: String, _ result: String) throws {
        #expect(try URLRules.resolve(reference, against: "http://a/b").requestURL == result)
    }

    @Test func aBaseWithoutPathWorks() throws {
        #expect(try URLRules.resolve("x", against: "http://a").requestURL == "http://a/x")
        #expect(try URLRules.resolve("?k", against: "http://a").requestURL == "http://a/?k")
    }
}
