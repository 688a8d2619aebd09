import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct ResponseInfoTests {
    private func info(_ headers: [HeaderField], _ verdict: Verdict = .accept(Acceptance(offset: 0))) -> ResponseInfo {
        ResponseInfo(
            ResponseHead(url: "https://u:p@h/f", status: 200, headers: headers), requested: "https://h/f",
            verdict: verdict)
    }

    /// They are shown without a check for secrets.
    @Test func fieldsThatMostAnswersHaveTellNoSecret() {
        for name in ResponseInfo.plain { #expect(HeaderField(name, "x").masked.value == "x") }
    }

    @Test func joinsRepeatsInOrder() {
        let headers = [HeaderField("A", "1"), HeaderField("B", "x"), HeaderField("a", "2")]
        #expect(info(headers).headers == [HeaderField("A", "1, 2"), HeaderField("B", "x")])
    }

    @Test func keepsNoUserInfoAndNoCookies() {
        let info = info([HeaderField("Set-Cookie", "secret=1")])
        #expect(info.url == "https://h/f")
        #expect(info.headers.isEmpty)
    }

    @Test func keepsNoSignatureOfAPlace() {
        let head = ResponseHead(
            url: "https://h/f?v=1&Signature=abc", status: 201,
            headers: [
                HeaderField("Location", "/up/1?token=abc&part=2"), HeaderField("X", "/a?token=b"),
                HeaderField("X-Auth-Token", "abc"),
            ])
        let info = ResponseInfo(
            head, requested: "https://h/f", verdict: .accept(Acceptance(offset: 0)))
        #expect(info.url == "https://h/f?v=1&Signature=***")
        #expect(
            info.headers == [
                HeaderField("Location", "/up/1?token=***&part=2"), HeaderField("X", "/a?token=b"),
                HeaderField("X-Auth-Token", "***"),
            ])
    }

    @Test(arguments: [
        (
            HeaderField("Link", "<http://o.org/n?token=SRVlink&a=1>; rel=next, </m?token=b>; rel=prev"),
            "<http://o.org/n?token=***&a=1>; rel=next, </m?token=***>; rel=prev"
        ),
        (HeaderField("X-Redirect-Url", "http://u:SRVpw@o.org/?sig=SRVxru"), "http://o.org/?sig=***"),
        (HeaderField("Location", "/bot1:AAHdqTcvCH1vGWJxfSeo/f"), "/***/f"), (HeaderField("Via", "1.1 a"), "1.1 a"),
    ])
    func keepsNoSecretOfAnyURL(_ header: HeaderField, _ shown: String) {
        #expect(info([header]).headers == [HeaderField(header.name, shown)])
    }

    @Test func aFloodOfHeadersIsCut() {
        let flood = (0..<400).map { HeaderField("X-\($0)", String(repeating: "a", count: 1000)) }
        var info = info(flood + [HeaderField("ETag", "\"1\"")])
        let kept = info.headers
        let bytes = kept.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        #expect(bytes <= ResponseInfo.keptHeaderBytes)
        #expect(kept.first == flood.first)
        #expect(kept.contains(HeaderField("ETag", "\"1\"")))
        #expect(info.headersTruncated == true && StoredDocument(info).told["response"]?["headersTruncated"] == true)
        info.show(flood)
        #expect(info.headers == flood && info.headersTruncated == nil)
    }

    /// Whatever is masked, joined, left out or cut is in the whole header. Everything else is not stored twice.
    @Test(
        arguments: [
            ([HeaderField("A", "1"), HeaderField("ETag", "\"1\"")], false),
            ([HeaderField("Set-Cookie", "a=1")], true), ([HeaderField("X-Auth-Token", "a")], true),
            ([HeaderField("A", "1"), HeaderField("a", "2")], true), ([HeaderField("Location", "/a?token=b")], true),
            ([HeaderField("A", String(repeating: "a", count: 20_000))], true),
            ([HeaderField("A", "http://h/a")], false), ([HeaderField("A", "http://u:p@h/a")], true),
        ])
    func theWholeHeadIsKeptIfMoreIsInIt(headers: [HeaderField], isMore: Bool) {
        let head = ResponseHead(url: "https://h/f?a=b", status: 200, headers: headers)
        let response = ResponseInfo(head, requested: head.url, verdict: .accept(Acceptance(offset: 0)))
        let whole = WholeHead(head, beyond: response)
        #expect(whole == (isMore ? WholeHead(url: head.url, headers: headers) : nil))
    }

    @Test func saysWhereTheBodyBegins() {
        #expect(info([], .accept(Acceptance(offset: 7, total: 9))).resumedFrom == 7)
        #expect(info([], .accept(Acceptance(offset: 0, total: 9))).resumedFrom == nil)
        #expect(info([], .accept(Acceptance(offset: 7, total: 9))).expectedLength == 9)
    }
}
