import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct HeadParserTests {
    private func parse(_ text: String) -> (parser: HeadParser, ends: Int) {
        var parser = HeadParser()
        var ends = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let bytes = Array("\(line)\r\n".utf8)
            if bytes.withUnsafeBytes({ parser.line($0) }) == .headEnded { ends += 1 }
        }
        return (parser, ends)
    }

    @Test func keepsStatusReasonAndFieldsInOrder() {
        let (parser, ends) = parse(
            "HTTP/1.1 206 Partial Content\nETag: \"x\"\nContent-Length: 5\ncontent-length:  7 \n\n")
        #expect(ends == 1)
        #expect(parser.status == 206)
        #expect(parser.httpVersion == "1.1")
        #expect(parser.reason == "Partial Content")
        #expect(parser.values("content-length") == ["5", "7"])
        #expect(parser.headers.first == HeaderField("ETag", "\"x\""))
    }

    /// RFC 6265bis section 5.6: a cookie is octets.
    @Test func cookiesKeepTheirOctets() {
        var parser = HeadParser()
        let values: [[UInt8]] = [
            Array("a=1".utf8), Array("b=caf".utf8) + [0xE9], Array("c=caf\u{e9}".utf8), [0x80, 0xFF],
        ]
        var lines = [Array("HTTP/1.1 200 OK".utf8)]
        for value in values { lines.append(Array("set-cookie: ".utf8) + value) }
        lines.append([])
        for line in lines { _ = (line + [13, 10]).withUnsafeBytes { parser.line($0) } }
        #expect(parser.setCookies.map(CookieOctets.octets) == values)
        #expect(parser.values("set-cookie").count == 4)
        #expect(parser.values("set-cookie")[1] == "b=caf\u{e9}")
    }

    /// The continuation is not lost with the octets of the first line (RFC 9112 section 5.2).
    @Test func aFoldedCookieIsWhole() {
        var parser = HeadParser()
        for line in [
            Array("HTTP/1.1 200 OK".utf8), Array("set-cookie: a=caf".utf8) + [0xE9], Array(" ; Secure".utf8), [],
        ] {
            _ = (line + [13, 10]).withUnsafeBytes { parser.line($0) }
        }
        #expect(parser.setCookies.count == 1 && parser.setCookies[0].hasSuffix("; Secure"))
    }

    @Test func skipsInterimResponses() {
        let (parser, ends) = parse("HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nETag: \"y\"\n\n")
        #expect(ends == 1)
        #expect(parser.status == 200)
        #expect(parser.headers == [HeaderField("ETag", "\"y\"")])
    }

    @Test func givesAnInterimResponseBeforeTheNextBegins() {
        var parser = HeadParser()
        let lines = ["HTTP/1.1 104 Upload Resumption Supported", "Location: /up", ""]
        let events = lines.map { line in Array("\(line)\r\n".utf8).withUnsafeBytes { parser.line($0) } }
        #expect(events == [.none, .none, .interimEnded])
        #expect(parser.status == 104)
        #expect(parser.values("location") == ["/up"])
        #expect(!parser.isComplete)
    }

    @Test func forgetsAnAnsweredChallenge() {
        let (parser, _) = parse("HTTP/1.1 401 No\nWWW-Authenticate: Basic\n\nHTTP/1.1 200 OK\nA: b\n\n")
        #expect(parser.values("www-authenticate").isEmpty)
        #expect(parser.status == 200)
    }

    @Test func readsHTTP2WithoutReason() {
        let (parser, ends) = parse("HTTP/2 200 \nserver: x\n\n")
        #expect(ends == 1)
        #expect(parser.httpVersion == "2")
        #expect(parser.reason == nil)
    }

    @Test func separatesTrailers() {
        let (parser, _) = parse("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nRepr-Digest: sha-256=:aa=:\n")
        #expect(parser.headers.count == 1)
        #expect(parser.trailers == [HeaderField("Repr-Digest", "sha-256=:aa=:")])
    }

    @Test func joinsFoldedLines() {
        let (parser, _) = parse("HTTP/1.1 200 OK\nX: a\n  b\n\n")
        #expect(parser.values("x") == ["a b"])
    }

    @Test func readsBytesThatAreNoUTF8AsLatin1() {
        var parser = HeadParser()
        let field = Array("X: caf".utf8) + [0xE9]
        for line in [Array("HTTP/1.1 200 OK".utf8), field, Array("Y: caf\u{E9}".utf8), []] {
            line.withUnsafeBytes { _ = parser.line($0) }
        }
        #expect(parser.values("x") == ["caf\u{E9}"])
        #expect(parser.values("y") == ["caf\u{E9}"])
    }

    /// RFC 9110 section 5.5: neither character may reach a request that is sent later, or a file name.
    @Test func readsCarriageReturnsAndZerosAsSpaces() {
        let (parser, _) = parse("HTTP/1.1 200 OK\nETag: \"a\rX: b\u{0}c\"\n\n")
        #expect(parser.headers == [HeaderField("ETag", "\"a X: b c\"")])
    }

    @Test func ignoresAnFTPDialogue() {
        let (parser, ends) = parse("220 welcome\n331 password\n\n230 in\n")
        #expect(ends == 0)
        #expect(!parser.isComplete)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\nContent-Length: 3\n\n", true),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\n", true),
        ("HTTP/1.1 200 OK\n\n", false), ("HTTP/2 200\n\n", false), ("HTTP/1.1 204 No Content\n\n", true),
    ])
    func knowsWhetherTheEndIsMarked(text: String, delimited: Bool) {
        #expect(parse(text).parser.isDelimited == delimited)
    }

    @Test func followsOnlyTheFiveRedirects() {
        for status in 200...599 {
            let isFollowed = [301, 302, 303, 307, 308].contains(status)
            let target = parse("HTTP/1.1 \(status) x\nLocation: /there\n\n").parser.redirectTarget()
            #expect(target == (isFollowed ? "/there" : nil), "\(status)")
            #expect(
                parse("HTTP/1.1 \(status) x\n\n").parser.redirectTarget() == nil, "\(status) without a place is final")
        }
    }

    /// The parser looks at eight bytes together. It must read every line made of these bytes as RFC 9112 section 5
    /// says.
    @Test(arguments: [0, 5, 9], [1, 9]) func linesAreReadByteByByte(before: Int, after: Int) {
        let alphabet: [UInt8] = [0x61, 0x3A, 0x20, 0x09, 0x00, 0x0D, 0xC3, 0xA9, 0xFF]
        var wrong: [[UInt8]] = []
        for number in 0..<6561 {
            let middle = [number / 729, number / 81 % 9, number / 9 % 9, number % 9].map { alphabet[$0] }
            let line =
                [UInt8](repeating: 0x79, count: before) + middle + [UInt8](repeating: 0x7A, count: after)
            var parser = HeadParser()
            for bytes in [Array("HTTP/1.1 200 OK".utf8), Array("A:b".utf8), line] {
                _ = bytes.withUnsafeBytes { parser.line($0) }
            }
            let text = Self.text(line)
            var expected = [HeaderField("A", "b")]
            if [0x20, 0x09, 0x00, 0x0D].contains(line[0]) {
                expected = [HeaderField("A", "b " + Self.trimmed(text))]
            } else if let colon = text.unicodeScalars.firstIndex(of: ":") {
                let name = Self.trimmed(String(text.unicodeScalars[..<colon]))
                let value = Self.trimmed(String(text.unicodeScalars[text.unicodeScalars.index(after: colon)...]))
                expected.append(HeaderField(name, value))
            }
            if parser.headers != expected { wrong.append(line) }
        }
        #expect(wrong.isEmpty)
    }

    private static func text(_ line: [UInt8]) -> String {
        let clean = line.map { $0 == 0 || $0 == 0x0D ? 0x20 : $0 }
        return String(validating: clean, as: UTF8.self)
            ?? String(String.UnicodeScalarView(clean.map { Unicode.Scalar($0) }))
    }

    private static func trimmed(_ text: String) -> String {
        let isBlank: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\t" }
        let begun = text.unicodeScalars.drop(while: isBlank)
        return String(String.UnicodeScalarView(begun.reversed().drop(while: isBlank).reversed()))
    }
}
