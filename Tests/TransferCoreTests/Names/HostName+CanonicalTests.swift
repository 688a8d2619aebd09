import Testing

@testable import TransferCore

struct HostNameCanonicalTests {
    /// A-labels as Python's codecs `punycode` and `idna` write them, and from RFC 3492 section 7.1 (B, J).
    @Test(arguments: [
        ("a.example", "a.example"), ("A.EXAMPLE.", "a.example"), ("localhost", "localhost"), (".", "."), ("", ""),
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"),
        ("a\u{308}rger.de", "xn--rger-koa.de"), ("straße.de", "xn--strae-oqa.de"), ("mañana.com", "xn--maana-pta.com"),
        ("пример.испытание", "xn--e1afmkfd.xn--80akhbyknj4f"), ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
        ("他们为什么不说中文.org", "xn--ihqwcrb4cv8a8dqg056pqjye.org"),
        ("почемужеонинеговорятпорусски.ru", "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l.ru"),
        ("ＡＢＣ.example", "abc.example"), ("x。y.org", "x.y.org"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("[::1]", "::1"), ("[0:0::0:1]", "::1"),
        ("2001:DB8:0:0::0001", "2001:db8::1"), ("[v1.x]", "[v1.x]"), ("a:b", "a:b"), ("a..", "a"), ("ä．", "xn--4ca"),
    ])
    func isComparedAs(name: String, canonical: String) {
        #expect(HostName.canonical(name) == canonical)
        #expect(HostName.canonical(canonical) == canonical)
    }

    /// Characters that IDNA 2008 refuses, and those that stand for others which are not part of a name.
    @Test(arguments: [
        "☃.net", "\u{2100}.ü", "：.ü", "ü／b.example", "ü＠b.example",
        "ü-.de", "ü\u{200D}x.de", "ü\0", "ü..x",
    ])
    func whatIDNARefusesStays(name: String) {
        #expect(HostName.ascii(name) == nil)
        #expect(HostName.canonical(name) == name)
    }

    /// A label that no name can have stays as it is, and costs little time.
    @Test func aLongLabelStays() {
        let label = String(repeating: "ü", count: 100_000)
        #expect(HostName.canonical(label) == label && !HostName.isDomain(label))
    }
}
