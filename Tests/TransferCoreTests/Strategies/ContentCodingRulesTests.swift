import Testing

@testable import TransferCore

struct ContentCodingRulesTests {
    @Test(arguments: [
        (nil, ["x.tar.gz"], nil), ("gzip", ["x.tar.gz"], nil), ("gzip", ["x.TGZ"], nil), ("gzip", ["x.tar"], "gzip"),
        ("gzip", ["x.tar", "x.tar.gz"], "gzip"), ("gzip", [], "gzip"), ("br", ["page.html.br"], nil),
        ("br", ["a.gz"], "br"), ("deflate, gzip", ["x.gz"], nil),
    ])
    func decodesUnlessTheNameSaysIt(_ coding: String?, _ names: [String], _ expected: String?) {
        #expect(ContentCodingRules.toDecode(coding, names: names) == expected)
    }
}
