import Testing
import TransferModel

@testable import TransferCore

struct HeldBytesTests {
    private let modified = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func range(_ checkpoint: Checkpoint, trusted: Bool = false) -> RangeRequest? {
        HeldBytes(checkpoint, trustedDigest: trusted).rangeRequest
    }

    @Test func aStrongTagGoesIntoIfRange() {
        #expect(range(checkpoint(5, of: 9, etag: "\"a\"")) == RangeRequest(offset: 5, ifRange: "\"a\""))
    }

    @Test func aWeakTagProvesNothingAndForbidsTheDate() {
        let weak = checkpoint(5, of: 9, etag: "W/\"a\"", lastModified: modified, date: "Mon, 07 Nov 1994 08:49:37 GMT")
        #expect(range(weak) == nil)
        #expect(range(weak, trusted: true) == RangeRequest(offset: 5, ifRange: nil))
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:50:37 GMT", true), ("Sun, 06 Nov 1994 08:50:36 GMT", false),
        ("Sun, 06 Nov 1994 08:49:00 GMT", false), (nil, false),
    ])
    func aDateIsStrongAfterAMinute(_ date: String?, _ isStrong: Bool) {
        let held = checkpoint(5, of: 9, lastModified: modified, date: date)
        #expect(range(held) == (isStrong ? RangeRequest(offset: 5, ifRange: modified) : nil))
    }

    @Test(arguments: ["\"a\rb\"", "\"a\u{1}\"", "\"a\u{7F}\"", "\"a\nX: y\""])
    func whatCouldNotBeSentBackIsNoValidator(_ tag: String) {
        #expect(range(checkpoint(5, of: 9, etag: tag)) == nil)
    }

    @Test func withoutAValidatorOnlyADigestHelps() {
        #expect(range(checkpoint(5, of: 9)) == nil)
        #expect(range(checkpoint(5, of: 9), trusted: true) == RangeRequest(offset: 5, ifRange: nil))
        #expect(range(checkpoint(5, of: 9, digests: ["sha-256": "00"])) != nil)
        #expect(range(checkpoint(5, of: 9, digests: ["md5": "00"])) == nil)
    }

    @Test func codedBytesNeedAStrongTag() {
        let date = "Mon, 07 Nov 1994 08:49:37 GMT"
        #expect(range(checkpoint(5, etag: "\"a\"", coding: "gzip")) != nil)
        #expect(range(checkpoint(5, lastModified: modified, date: date, coding: "gzip"), trusted: true) == nil)
        #expect(range(checkpoint(5, coding: "gzip"), trusted: true) == nil)
    }

    @Test func nothingIsAskedForBeyondTheEnd() {
        #expect(range(checkpoint(0, of: 9, etag: "\"a\"")) == nil)
        #expect(range(checkpoint(9, of: 9, etag: "\"a\"")) == nil)
        #expect(range(checkpoint(10, of: 9, etag: "\"a\"")) == nil)
        #expect(HeldBytes(checkpoint(9, of: 9), trustedDigest: false).isComplete)
        #expect(!HeldBytes(checkpoint(9), trustedDigest: false).isComplete)
    }
}
