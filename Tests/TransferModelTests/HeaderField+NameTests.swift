import Testing

@testable import TransferModel

@Suite struct HeaderFieldNameTests {
    @Test(arguments: ["etag", "ETag", "ETAG"])
    func caseDoesNotMatter(name: String) {
        #expect(HeaderField("ETag", "x").isNamed(name))
    }

    @Test(arguments: ["eta", "etags", "e-tag", "@tag", ""])
    func everythingElseDoes(name: String) {
        #expect(!HeaderField("ETag", "x").isNamed(name))
    }

    @Test func onlyLettersHaveACase() {
        #expect(!HeaderField("a[b", "x").isNamed("a{b"))
        #expect(!HeaderField("É", "x").isNamed("é"))
    }
}
