import CCurl
import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct HeaderLinesTests {
    private func lines(_ headers: [HeaderField], stored: String?) throws -> [[UInt8]] {
        var exchange = Exchange(url: "http://a.example/", judge: Judge.taking())
        exchange.headers = headers
        var request = try RequestState(exchange, url: #require(CurlURL(exchange.url)))
        request.storedCookies = stored
        let made = try #require(HeaderLines(request, ofPayload: [], userAgent: "test"))
        defer { withExtendedLifetime(made) {} }
        var (lines, next): ([[UInt8]], UnsafeMutablePointer<curl_slist>?) = ([], made.list)
        while let line = next {
            lines.append(Array(UnsafeRawBufferPointer(start: line.pointee.data, count: strlen(line.pointee.data))))
            next = line.pointee.next
        }
        return lines
    }

    /// What a server has set goes back octet by octet, after what the caller gives.
    @Test func cookiesAreSentAsTheyCame() throws {
        let stored: [UInt8] = Array("a=caf".utf8) + [0xE9, 0xFF]
        let own = "own=\u{f7e9}"
        let made = try lines([HeaderField("Cookie", own)], stored: CookieOctets.text(of: stored))
        #expect(made.contains(Array("Cookie: \(own); ".utf8) + stored))
    }

    /// Swift takes a composed and a decomposed letter for equal.
    @Test func otherOctetsAreOtherLines() throws {
        let exchange = Exchange(url: "http://a.example/", judge: Judge.taking())
        var request = try RequestState(exchange, url: #require(CurlURL(exchange.url)))
        request.storedCookies = "a=\u{e9}"
        let made = try #require(HeaderLines(request, ofPayload: [], userAgent: "test"))
        #expect(made.serve(request, ofPayload: []))
        request.storedCookies = "a=e\u{301}"
        #expect(!made.serve(request, ofPayload: []))
    }

    @Test func withoutStoredCookiesTheCallersFieldStays() throws {
        let own = "own=\u{f7e9}"
        #expect(try lines([HeaderField("Cookie", own)], stored: nil).contains(Array("Cookie: \(own)".utf8)))
    }
}
