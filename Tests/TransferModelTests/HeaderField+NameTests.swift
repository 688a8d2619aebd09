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

    @Test func allBytesOfANameCount() {
        var wrong: [(UInt8, UInt8)] = []
        let letters = Array("abcdefghijklmnopqrstuvwxyz".utf8)
        for one in UInt8(0)..<0x80 {
            for other in UInt8(0)..<0x80 {
                let isSame = one == other || one ^ other == 0x20 && letters.contains(one | 0x20)
                let field = HeaderField("x" + String(Unicode.Scalar(one)), "")
                if field.isNamed("X" + String(Unicode.Scalar(other))) != isSame { wrong.append((one, other)) }
            }
        }
        #expect(wrong.isEmpty)
    }

    @Test func fieldsAreFoundByName() {
        let fields = [HeaderField("a", "1"), HeaderField("B", "2"), HeaderField("b", "3")]
        #expect(fields.values(named: "b") == ["2", "3"] && fields.values(named: "c").isEmpty)
        #expect(fields.firstIndex(named: "b") == 1 && fields.firstIndex(named: "c") == nil)
    }

    @Test func onlyLettersHaveACase() {
        #expect(!HeaderField("a[b", "x").isNamed("a{b"))
        #expect(!HeaderField("É", "x").isNamed("é"))
    }
}
