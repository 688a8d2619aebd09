import Foundation
import Testing
import TransferModel

@testable import dlctl

@Suite struct HostedLinkTests {
    private func persepolis(_ more: [String: JSONValue], url: String = "https://h.example/d/f.iso") throws -> TaskSpec?
    {
        let link: [String: JSONValue] = [
            "url": .string(url), "cookies": "", "useragent": "", "referrer": "", "postdata": "",
        ]
        return try #require(HostedLink(persepolis: .object(link.merging(more) { $1 }))).spec
    }

    private func gopeed(_ request: JSONValue) -> TaskSpec? {
        let text = Data(JSONCoding.encode(request)).base64EncodedString()
        return HostedLink(gopeed: .string(text))?.spec
    }

    @Test(arguments: ["http://h/x", "https://h/x", "HTTPS://h/x", "ftp://h/x"])
    func linksOfTheseSchemesAreTaken(_ url: String) throws { #expect(try persepolis([:], url: url)?.url == url) }

    @Test(arguments: ["blob:http://h/x", "data:,x", "file:///etc/passwd", "javascript:1", "sftp://h/x", "", "http"])
    func linksOfOthersAreNot(_ url: String) throws { #expect(try persepolis([:], url: url) == nil) }

    /// They are secret only as the task's cookies.
    @Test func cookiesAreOfTheHostAlone() throws {
        let spec = try #require(try persepolis(["cookies": "a=b; c=d=e;; =n ;bare"], url: "https://H.example:8443/x"))
        let expected = [("a", "b"), ("c", "d=e"), ("", "n"), ("", "bare")].map {
            Cookie(name: $0, value: $1, domain: "h.example", secure: true)
        }
        #expect(spec.cookies == expected && spec.cookies?.allSatisfy(\.hostOnly) == true)
        #expect(spec.headers == nil)
        #expect(try persepolis(["cookies": "a=b"], url: "http://h/x")?.cookies?.first?.secure == false)
    }

    @Test(arguments: [("", nil), ([], nil), (["a=b", "c=d"], 2), (nil, nil), (7, nil)] as [(JSONValue, Int?)])
    func cookiesMayBeEmptyOrAList(_ cookies: JSONValue, _ count: Int?) throws {
        #expect(try persepolis(["cookies": cookies])?.cookies?.count == count)
    }

    @Test func moreCookiesThanATaskMayHaveAreLeftOut() throws {
        let many = (0..<500).map { "n\($0)=v" }.joined(separator: "; ")
        #expect(try persepolis(["cookies": .string(many)])?.cookies?.count == Bounds.cookiesOfTask)
    }

    @Test func fieldsOfTheConnectionAreDropped() throws {
        let fields: JSONValue = [
            "Host": "h", "Connection": "close", "Range": "bytes=0-", "Accept-Encoding": "gzip", "TE": "trailers",
            "Content-Length": "0", "If-None-Match": "x", "Proxy-Authorization": "x", "Upgrade": "h2c",
            "cookie": "sid=1", "Accept-Language": "de", "Authorization": "Bearer t", "X Y": "no name", "X-Bad": "a\nb",
        ]
        let spec = try #require(gopeed(["req": ["url": "http://h/x", "extra": ["header": fields]]]))
        #expect(spec.headers == [HeaderField("Accept-Language", "de"), HeaderField("Authorization", "Bearer t")])
        #expect(spec.cookies == [Cookie(name: "sid", value: "1", domain: "h")])
    }

    @Test func whoAsksAndWhenceIsTold() throws {
        let spec = try persepolis([
            "useragent": "UA", "referrer": "https://h/", "header": ["X-A: 1", "Referer: other"],
        ])
        #expect(
            spec?.headers == [
                HeaderField("X-A", "1"), HeaderField("Referer", "other"), HeaderField("User-Agent", "UA"),
            ])
        // FTP has no fields and no cookies; the daemon would refuse them.
        let ftp = try persepolis(["useragent": "UA", "cookies": "a=b"], url: "ftp://h/x")
        #expect(ftp?.headers == nil && ftp?.cookies == nil)
    }

    @Test(arguments: [
        ("f.iso", "f.iso"), ("/etc/passwd", "passwd"), ("../../x", "x"), ("C:\\Temp\\y.zip", "y.zip"), ("a/", "a"),
        ("..", nil), (".", nil), ("", nil), ("///", nil), ("a\0b", nil),
    ])
    func onlyTheLastPartOfANameCounts(_ name: String, _ kept: String?) throws {
        #expect(try persepolis(["filename": .string(name)])?.destination?.filename == kept)
        #expect(gopeed(["req": ["url": "http://h/x"], "opt": ["name": .string(name)]])?.destination?.filename == kept)
        #expect(try persepolis(["filename": .string(name)])?.destination?.directory == nil)
    }

    @Test func aFormIsSentAsTheBrowserWouldHave() throws {
        let spec = try #require(try persepolis(["postdata": "q=1"]))
        #expect(spec.method == "POST" && spec.body?.text == "q=1")
        #expect(spec.headers == [HeaderField("Content-Type", "application/x-www-form-urlencoded")])
        #expect(try persepolis([:])?.method == nil)
    }

    @Test func parametersThatAreNoRequestAreRefused() {
        for parameters: JSONValue? in [nil, "", "%", "bm8=", 7, ["req": ["url": "http://h/x"]]] {
            #expect(HostedLink(gopeed: parameters) == nil, "\(String(describing: parameters))")
        }
        #expect(gopeed(["req": [:]]) == nil)
    }
}
