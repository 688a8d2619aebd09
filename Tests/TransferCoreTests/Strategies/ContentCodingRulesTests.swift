import Testing
import TransferModel

@testable import TransferCore

struct ContentCodingRulesTests {
    @Test(
        arguments: [
            (nil, "page.html", [], "page.html"),
            ("gzip", "page.html", [.gzip], "page.html"), ("x-gzip", "a", [.gzip], "a"),
            ("deflate", "a", [.deflate], "a"), ("gzip", "x.tar", [.gzip], "x.tar"),
            ("gzip, gzip", "a", [.gzip, .gzip], "a"), ("deflate, gzip", "a", [.gzip, .deflate], "a"),
            // The name tells the coding already.
            ("gzip", "x.tar.gz", [], "x.tar.gz"), ("gzip", "x.TGZ", [], "x.TGZ"), ("br", "a.html.br", [], "a.html.br"),
            ("zstd", "x.tar.zst", [], "x.tar.zst"), ("br, gzip", "a.br.gz", [], "a.br.gz"),
            ("lz4", "a.lz4", [], "a.lz4"),
            // One of the codings belongs to the file, the other one was added on the way.
            ("gzip, gzip", "x.tar.gz", [.gzip], "x.tar.gz"), ("br, gzip", "a.br", [.gzip], "a.br"),
            ("br", "page.html", [.br], "page.html"), ("zstd", "a", [.zstd], "a"), ("x-zstd", "a", [.zstd], "a"),
            ("br", "a.gz", [.br], "a.gz"), ("gzip, br", "a", [.br, .gzip], "a"), ("gzip, br", "a.gz", [.br], "a.gz"),
            // Unknown codings are added to the name.
            ("compress", "a", [], "a.Z"), ("lz4", "page.html", [], "page.html.lz4"), ("lz4", "a.gz", [], "a.gz.lz4"),
            ("gzip, lz4", "a", [], "a.gz.lz4"), ("lz4, gzip", "a", [.gzip], "a.lz4"),
            ("gzip, lz4", "a.gz", [], "a.gz.lz4"), ("lz4, br", "a.gz", [.br], "a.gz.lz4"),
            ("something", "a", [], "a.something"), ("../../etc", "a", [], "a.coded"), ("-", "a", [], "a.coded"),
            ("an-endless-name-of-a-coding", "a", [], "a.coded"),
        ] as [(String?, String, [ContentCodingRules.Undoable], String)])
    func whatIsKnownIsUndoneAndTheRestIsSaid(
        _ coding: String?, _ name: String, _ undone: [ContentCodingRules.Undoable], _ said: String
    ) {
        let plan = ContentCodingRules.plan(coding, name: name)
        #expect(plan == ContentCodingRules.Plan(undone: undone, name: said))
        // Such a name stays the same, so a delivered file is found again under it.
        #expect(ContentCodingRules.plan(coding, name: plan.name) == plan)
    }

    /// Whatever a server sends, a file whose name tells no coding is not coded.
    @Test func noPlainNameIsGivenToWhatIsCoded() {
        let words = ["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "foo", "bzip2"]
        for first in words {
            for second in words {
                for name in ["a", "a.html", "a.gz", "a.br", "a.tar.zst"] {
                    for coding in [first, "\(first), \(second)"] {
                        let plan = ContentCodingRules.plan(coding, name: name)
                        let count = coding.split(separator: ",").count
                        let said = plan.name.count { $0 == "." } - name.count { $0 == "." }
                        let own = name.contains(".") && !name.hasSuffix("html") ? 1 : 0
                        #expect(plan.undone.count + said + own >= count, "\(coding) \(name): \(plan)")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ("identity", nil), ("utf-8", nil), ("aws-chunked", nil), ("aws-chunked, GZIP", "gzip"), ("", nil),
        ("br , gzip", "br, gzip"), ("identity,zstd", "zstd"), ("none", nil),
    ])
    func wordsThatAreNoCodingsMeanNothing(_ field: String, _ coding: String?) {
        let head = ResponseHead(url: "", headers: [HeaderField("Content-Encoding", field)])
        #expect(head.contentCoding == coding)
    }

    @Test func severalFieldsAreOneList() {
        let fields = [HeaderField("Content-Encoding", "br"), HeaderField("content-encoding", "gzip")]
        #expect(ResponseHead(url: "", headers: fields).contentCoding == "br, gzip")
    }

    @Test(arguments: [
        (nil, ["x.tar.gz"], nil), ("gzip", ["x.tar.gz"], nil), ("gzip", ["x.tar"], "gzip"),
        ("gzip", ["x.tar", "x.tar.gz"], "gzip"), ("gzip", [], "gzip"), ("br", ["page.html.br"], nil),
        ("br", ["a.gz"], "br"), ("zstd", ["a.tzst"], nil), ("gzip, gzip", ["x.gz"], "gzip, gzip"),
    ])
    func onlyWhatTheNameDoesNotSayIsACoding(_ coding: String?, _ names: [String], _ expected: String?) {
        #expect(ContentCodingRules.unstated(coding, names: names) == expected)
    }

    /// Some servers report the format of a file twice because of its extension.
    @Test(arguments: [
        ("application/gzip", "gzip", nil), ("application/x-gzip; x=y", "x-gzip", nil),
        ("Application/GZIP", "gzip, gzip", "gzip"), ("application/gzip", "br", "br"), ("application/zstd", "zstd", nil),
        ("application/gzip", "br, gzip", "br, gzip"), ("text/html", "gzip", "gzip"),
        ("application/octet-stream", "gzip", "gzip"),
    ])
    func aFormatThatIsTheMediaTypeIsNoCoding(_ type: String, _ field: String, _ coding: String?) {
        let fields = [HeaderField("Content-Type", type), HeaderField("Content-Encoding", field)]
        #expect(ResponseHead(url: "", headers: fields).contentCoding == coding)
    }

    @Test(
        arguments: [
            ("gzip", [.gzip]), ("gzip, br", [.br, .gzip]), ("x-gzip", [.gzip]), ("deflate, zstd", [.zstd, .deflate]),
            ("compress", nil), ("compress, gzip", nil), ("gzip, compress", nil), ("gzip, gzip, gzip, gzip, gzip", nil),
        ] as [(String, [ContentCodingRules.Undoable]?)])
    func anAnswerIsDecodedWhollyOrNotAtAll(_ coding: String, _ codings: [ContentCodingRules.Undoable]?) {
        #expect(ContentCodingRules.undoingAll(coding) == codings)
    }

    @Test func shortBodiesMayGrowAndLongOnesByTheRatio() {
        let (ratio, always) = (Bounds.decodedRatio, ByteCount(Bounds.decodedAlways))
        for coded in [ByteCount.zero, 1, ByteCount(always.rawValue / ratio)] {
            #expect(ContentCodingRules.mostDecoded(of: coded) == always)
        }
        #expect(ContentCodingRules.mostDecoded(of: .mebibytes(1)) == .mebibytes(ratio))
        for coded in [ByteCount(.max), ByteCount(.max / ratio + 1)] {
            #expect(ContentCodingRules.mostDecoded(of: coded) == ByteCount(.max))
        }
        // A bomb among the answers in memory is detected before it is over their limit.
        #expect(Bounds.decodedAlways < Int64(Bounds.dataAnswer))
    }
}
