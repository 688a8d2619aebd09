import Testing
import TransferModel

@testable import TransferCore

struct HTTPJudgeTests {
    private let strong = HeldBytes(checkpoint(100, of: 1000, etag: "\"a\""), trustedDigest: false)

    private func judge(_ held: HeldBytes?, ifRange: Bool = true) -> HTTPJudge {
        HTTPJudge(held: held, mayTryBareRange: ifRange && held != nil, now: reading().wall)
    }

    private func isRestart(_ verdict: Verdict) -> Bool {
        if case .stop(.restart(let error)) = verdict { error.code == .validatorChanged } else { false }
    }

    private func accepted(_ verdict: Verdict) -> Acceptance? {
        if case .accept(let acceptance) = verdict { acceptance } else { nil }
    }

    /// No part of such a body is fetched, because it would never be decoded.
    @Test(arguments: [200, 203, 404]) func moreLayersThanAreDecodedAreAnError(status: Int) {
        let judge = HTTPJudge(held: nil, mayTryBareRange: false, now: reading().wall, acceptsAnyStatus: true)
        func verdict(_ layers: Int) -> Verdict {
            let codings = Array(repeating: "gzip", count: layers).joined(separator: ", ")
            return judge.judge(head(status, ["Content-Length": "9", "Content-Encoding": codings]))
        }
        #expect(accepted(verdict(4)) != nil)
        guard case .stop(.failure(let error, _)) = verdict(5) else { return #expect(Bool(false), "accepted") }
        #expect(error.code == .httpProtocol && !error.retryable)
    }

    // MARK: Any status

    /// Without held bytes every final status is an answer. Only a success can be resumed.
    @Test(arguments: 200...599)
    func whoAcceptsAnyStatusStopsAtNone(status: Int) {
        let judge = HTTPJudge(held: nil, mayTryBareRange: false, now: reading().wall, acceptsAnyStatus: true)
        let verdict = judge.judge(
            head(status, ["Content-Length": "9", "ETag": "\"e\"", "Content-Encoding": "gzip", "Retry-After": "9"]))
        let length: ByteCount = [204, 205, 304].contains(status) ? 0 : 9
        let isSuccess = (200..<300).contains(status) && status != 206
        #expect(
            accepted(verdict)
                == Acceptance(
                    offset: 0, truncate: true, expected: length, total: length,
                    validators: isSuccess ? Validators(etag: "\"e\"") : Validators(), contentCoding: "gzip"))
    }

    /// If bytes are held, an answer about the requested range is judged as usual. All others replace the held bytes.
    @Test(arguments: 200...599)
    func anyStatusEndsWhatWasHeld(status: Int) {
        let judge = HTTPJudge(held: strong, mayTryBareRange: true, now: reading().wall, acceptsAnyStatus: true)
        let verdict = judge.judge(head(status, ["Content-Length": "9", "ETag": "\"b\""]))
        switch status {
        case 204, 205, 206, 416: #expect(isRestart(verdict))
        default: #expect(accepted(verdict)?.truncate == true && accepted(verdict)?.offset == 0)
        }
        let same = judge.judge(head(416, ["Content-Range": "bytes */100", "ETag": "\"a\""]))
        #expect(same == .stop(.complete))
    }

    @Test func aPartThatNobodyAskedForIsAnAnswerToo() {
        let judge = HTTPJudge(held: nil, mayTryBareRange: false, now: reading().wall, acceptsAnyStatus: true)
        for (range, length) in [("bytes 5-9/10", 5), ("bytes 0-4/10", 5), ("bytes 0-4/10", 4), ("x", 5)] {
            let verdict = judge.judge(
                head(206, ["Content-Range": range, "Content-Length": "\(length)", "ETag": "\"e\""]))
            let length = ByteCount(Int64(length))
            #expect(
                verdict == .accept(Acceptance(offset: 0, truncate: true, expected: length, total: length)), "\(range)")
        }
    }

    // MARK: 206

    @Test func theRestOfTheSameVersionIsAccepted() {
        let verdict = judge(strong).judge(
            head(206, ["Content-Range": "bytes 100-999/1000", "ETag": "\"a\"", "Content-Length": "900"]))
        let expected = Acceptance(
            offset: 100, expected: 900, total: 1000, validators: Validators(etag: "\"a\""))
        #expect(verdict == .accept(expected))
    }

    @Test func aShortPartAndAnUnknownTotalAreAllowed() {
        let short = accepted(judge(strong).judge(head(206, ["Content-Range": "bytes 100-199/1000", "ETag": "\"a\""])))
        #expect(short?.expected == 100)
        let star = accepted(judge(strong).judge(head(206, ["Content-Range": "bytes 100-199/*", "ETag": "\"a\""])))
        #expect(star?.total == 1000)
    }

    @Test(arguments: [
        [:], ["Content-Range": "bytes 100-999"], ["Content-Range": "bytes 0-999/1000"],
        ["Content-Range": "bytes 101-999/1000"], ["Content-Range": "bytes 100-999/1001"],
        ["Content-Range": "bytes 100-1000/*"], ["Content-Range": "bytes 999-100/1000"],
        ["Content-Range": "items 100-999/1000"], ["Content-Range": "bytes */1000"],
        ["Content-Range": "bytes 100-999/1000", "ETag": "\"b\""],
        ["Content-Range": "bytes 100-999/1000", "ETag": "W/\"a\""],
        ["Content-Range": "bytes 100-999/1000", "Content-Type": "multipart/byteranges; boundary=x"],
        ["Content-Range": "bytes 100-999/1000", "Content-Length": "1000"],
        ["Content-Range": "bytes 100-999/1000", "ETag": "\"a\"", "Content-Encoding": "gzip"],
    ])
    func anUnusablePartRestarts(_ fields: [String: String]) {
        let answer = ResponseHead(
            url: "https://example.org/f", status: 206, headers: fields.map { HeaderField($0.key, $0.value) })
        #expect(isRestart(judge(strong).judge(answer)), "\(fields)")
    }

    @Test func twoContentRangesRestart() {
        #expect(
            isRestart(
                judge(strong).judge(
                    head(206, ["Content-Range": "bytes 100-999/1000", "Content-Range": "bytes 0-9/1000"]))))
    }

    @Test(arguments: [
        ["Last-Modified": "Mon, 07 Nov 1994 08:49:37 GMT"], ["ETag": "\"a\"", "etag": "\"b\""],
    ])
    func aPartWithValidatorsThatSayNothingOfTheHeldOneRestarts(_ validators: [String: String]) {
        let fields = [HeaderField("Content-Range", "bytes 100-999/1000")]
        let answer = ResponseHead(
            url: "https://example.org/f", status: 206,
            headers: fields + validators.map { HeaderField($0.key, $0.value) })
        #expect(isRestart(judge(strong).judge(answer)))
    }

    @Test func aTagDoesNotVouchForADate() {
        let (modified, date) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT")
        let held = HeldBytes(checkpoint(100, of: 1000, lastModified: modified, date: date), trustedDigest: false)
        let range = "bytes 100-999/1000"
        #expect(isRestart(judge(held).judge(head(206, ["Content-Range": range, "ETag": "\"b\""]))))
        let both = accepted(
            judge(held).judge(head(206, ["Content-Range": range, "ETag": "\"b\"", "Last-Modified": modified])))
        #expect(both?.offset == 100)
        #expect(isRestart(judge(held).judge(head(206, ["Content-Range": range]))))
    }

    /// RFC 9110 section 15.3.7 requires the ETag in a part. Servers were seen that ignore If-Range and send another version.
    @Test func aPartWithoutItsValidatorProvesNothing() {
        let part = head(206, ["Content-Range": "bytes 100-999/1000"])
        #expect(judge(strong).judge(part) == .stop(.restart(HTTPJudge.unproven)))
        var trusting = judge(strong)
        trusting.resumesUnproven = true
        #expect(accepted(trusting.judge(part))?.offset == 100)
        #expect(isRestart(trusting.judge(head(206, ["Content-Range": "bytes 100-999/1000", "ETag": "\"b\""]))))
    }

    @Test func aValidatorThatComesTwiceIsNone() {
        let twice = accepted(judge(nil).judge(head(200, ["ETag": "\"a\"", "ETag": "\"b\""])))
        #expect(twice.map { HeldBytes($0, offset: 5, trustedDigest: false).strongValidator } == .some(nil))
        let equal = accepted(judge(nil).judge(head(200, ["ETag": "\"a\"", "ETag": " \"a\""])))
        #expect(equal?.validators.etag == "\"a\"")
    }

    @Test func anotherDigestOfTheWholeRestarts() {
        let held = HeldBytes(
            checkpoint(100, of: 1000, etag: "\"a\"", digests: ["md5": "00112233445566778899aabbccddeeff"]),
            trustedDigest: false)
        let answer = head(206, ["Content-Range": "bytes 100-999/1000", "Digest": "MD5=AAAAAAAAAAAAAAAAAAAAAA=="])
        #expect(isRestart(judge(held).judge(answer)))
    }

    @Test func aBareRangeMustConfirmTheValidatorItself() {
        let fields: KeyValuePairs = ["Content-Range": "bytes 100-999/1000"]
        #expect(isRestart(judge(strong, ifRange: false).judge(head(206, fields))))
        let confirmed = head(206, ["Content-Range": "bytes 100-999/1000", "ETag": "\"a\""])
        #expect(accepted(judge(strong, ifRange: false).judge(confirmed))?.offset == 100)
    }

    @Test func aPartNobodyAskedForIsUsedOnlyIfItIsTheWhole() {
        #expect(accepted(judge(nil).judge(head(206, ["Content-Range": "bytes 0-9/10"])))?.total == 10)
        guard case .stop(.failure(let error, _)) = judge(nil).judge(head(206, ["Content-Range": "bytes 5-9/10"])) else {
            Issue.record("a part was accepted as the whole")
            return
        }
        #expect(error.code == .httpProtocol)
        #expect(!error.retryable)
    }

    // MARK: 200

    @Test func aSliceUnder200IsAPartOrNothing() {
        let range = "bytes 100-999/1000"
        let slice = head(200, ["Content-Length": "900", "ETag": "\"a\"", "Content-Range": range])
        #expect(accepted(judge(strong).judge(slice))?.offset == 100)
        for fields: KeyValuePairs in [
            ["Content-Length": "900", "Content-Range": range],
            ["Content-Length": "900", "ETag": "\"b\"", "Content-Range": range],
            ["Content-Length": "500", "ETag": "\"a\"", "Content-Range": range],
            ["Content-Length": "899", "ETag": "\"a\"", "Content-Range": "bytes 101-999/1000"],
        ] { #expect(isRestart(judge(strong).judge(head(200, fields)))) }
        guard case .stop(.failure(let error, _)) = judge(nil).judge(slice) else {
            Issue.record("a slice was accepted as the whole")
            return
        }
        #expect(error.code == .httpProtocol && error.details["status"] == 200)
        let whole: KeyValuePairs = ["Content-Length": "1000", "Content-Range": range]
        #expect(accepted(judge(nil).judge(head(200, whole)))?.total == 1000)
    }

    @Test func a200ReplacesWhatIsHeld() {
        let verdict = judge(strong).judge(
            head(200, ["Content-Length": "1000", "ETag": "\"b\"", "Content-Range": "bytes 100-999/1000"]))
        let expected = Acceptance(
            offset: 0, truncate: true, expected: 1000, total: 1000, validators: Validators(etag: "\"b\""))
        #expect(verdict == .accept(expected))
    }

    @Test func a200OfTheSameVersionIsTriedOnceWithoutIfRange() {
        let same = head(200, ["Content-Length": "1000", "ETag": "\"a\""])
        #expect(judge(strong).judge(same) == .stop(.bareRange))
        #expect(accepted(judge(strong, ifRange: false).judge(same))?.offset == 0)
        let never = head(200, ["Content-Length": "1000", "ETag": "\"a\"", "Accept-Ranges": "none"])
        #expect(accepted(judge(strong).judge(never))?.offset == 0)
    }

    /// One of the two answers was wrong, but nobody can know which.
    @Test func theSameValidatorWithAnotherLengthRestarts() {
        let other: KeyValuePairs = ["Content-Length": "999", "ETag": "\"a\""]
        #expect(isRestart(judge(strong).judge(head(200, other))))
        #expect(isRestart(judge(strong, ifRange: false).judge(head(200, other))))
        let coded: KeyValuePairs = ["Content-Length": "99", "ETag": "\"a\"", "Content-Encoding": "gzip"]
        #expect(accepted(judge(strong).judge(head(200, coded)))?.offset == 0)
    }

    @Test func emptyAnswersAreEmptyFilesUnlessBytesAreHeld() {
        #expect(accepted(judge(nil).judge(head(204)))?.total == 0)
        #expect(isRestart(judge(strong).judge(head(204))))
        #expect(isRestart(judge(strong).judge(head(205))))
    }

    /// A captive portal answers in place of the server. The held bytes must survive that.
    @Test(arguments: ["text/html", "text/html; charset=utf-8", "application/xhtml+xml"])
    func aPageWithoutAValidatorIsNoVersionOfAFileThatHasOne(_ type: String) {
        let page = head(200, ["Content-Type": type, "Content-Length": "700"])
        for conditional in [true, false] {
            guard case .stop(.failure(let error, nil)) = judge(strong, ifRange: conditional).judge(page) else {
                Issue.record("a portal's page was taken for the file")
                continue
            }
            #expect(error.code == .httpProtocol)
            #expect(error.retryable)
        }
    }

    @Test func aPageIsAVersionWhereItSaysSoOrNothingIsKnown() {
        let page: KeyValuePairs = ["Content-Type": "text/html", "Content-Length": "700"]
        #expect(accepted(judge(nil).judge(head(200, page)))?.total == 700)
        let weak = HeldBytes(checkpoint(100, of: 1000), trustedDigest: true)
        #expect(accepted(judge(weak).judge(head(200, page)))?.total == 700)
        let named: KeyValuePairs = ["Content-Type": "text/html", "Content-Length": "700", "ETag": "\"b\""]
        #expect(accepted(judge(strong).judge(head(200, named)))?.total == 700)
        let other: KeyValuePairs = ["Content-Type": "application/zip", "Content-Length": "700"]
        #expect(accepted(judge(strong).judge(head(200, other)))?.total == 700)
    }

    /// An error under 200: short, without validator, and of another type than the file.
    @Test func aTextOfAnotherTypeIsNoVersionOfAFileThatHasOne() {
        var held = strong
        func isKept(_ type: String?, length: Int, _ more: [String: String] = [:]) -> Bool {
            let fields = more.merging(["Content-Length": "\(length)"]) { $1 }
            let answer = ResponseHead(
                url: "https://example.org/f", status: 200,
                headers: (fields.map { HeaderField($0.key, $0.value) })
                    + (type.map { [HeaderField("Content-Type", $0)] } ?? []))
            guard case .stop(.failure(let error, nil)) = judge(held).judge(answer) else { return false }
            return error.retryable
        }
        for known in [nil, "application/gzip"] {
            held.mediaType = known
            for type in ["application/json", "text/plain; charset=utf-8", "application/problem+json", "text/xml"] {
                #expect(isKept(type, length: 40), "\(type)")
                #expect(!isKept(type, length: 40, ["ETag": "\"b\""]))
                #expect(!isKept(type, length: 2 << 20))
            }
            #expect(!isKept("application/gzip", length: 40))
        }
        #expect(isKept(nil, length: 40) && isKept("application/zip", length: 40))
        held.mediaType = "application/json"
        #expect(!isKept("application/json", length: 40))
        #expect(isKept("text/html", length: 40))
    }

    @Test func anAnswerThatEndsInItsHeadIsAskedForAgain() {
        let cut = ResponseHead(url: "https://example.org/f", status: nil, headers: [])
        guard case .stop(.failure(let error, _)) = judge(nil).judge(cut) else {
            Issue.record("an answer without a status was taken")
            return
        }
        #expect(error.code == .networkLost)
        #expect(error.retryable)
    }

    @Test func lengthAndDateAreKept() {
        let verdict = judge(nil).judge(
            head(200, ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 09:49:37 GMT"]))
        #expect(accepted(verdict)?.validators.date == "Sun, 06 Nov 1994 09:49:37 GMT")
        #expect(accepted(verdict)?.total == nil)
    }

    /// Without held bytes there is nothing to restart, and the server would send the same answer again.
    @Test func aPartThatNobodyAskedForIsFinal() {
        for fields: KeyValuePairs in [
            [:], ["Content-Range": "bytes 5-9/10"], ["Content-Range": "bytes 0-9/*"], ["Content-Range": "nonsense"],
            ["Content-Type": "multipart/byteranges; boundary=x"],
            ["Content-Range": "bytes 0-9/10", "Content-Length": "11"],
        ] {
            guard case .stop(.failure(let error, _)) = judge(nil).judge(head(206, fields)) else {
                Issue.record("\(fields) was accepted, or begun again")
                continue
            }
            #expect(error.code == .httpProtocol && !error.retryable && error.message.contains("(206)"))
        }
        let all = head(206, ["Content-Range": "bytes 0-9/10", "Content-Length": "10"])
        #expect(accepted(judge(nil).judge(all))?.total == 10)
    }

    @Test func aLengthThatCannotBeIsNotCalledAContradiction() {
        let huge = "1" + String(repeating: "0", count: 30)
        guard case .stop(.failure(let error, _)) = judge(nil).judge(head(200, ["Content-Length": "\(huge)"])) else {
            Issue.record("it was accepted")
            return
        }
        #expect(error.message.contains("not a possible length") && error.code == .httpProtocol && !error.retryable)
    }

    @Test func contradictingLengthsAreAProtocolError() {
        for fields in [["10", "11"], ["10, 11"], ["ten"], ["-1"], [""]] {
            let answer = ResponseHead(
                url: "https://example.org/f", status: 200, headers: fields.map { HeaderField("Content-Length", $0) })
            guard case .stop(.failure(let error, _)) = judge(nil).judge(answer) else {
                Issue.record("\(fields) was accepted")
                continue
            }
            #expect(error.code == .httpProtocol)
            #expect(!error.retryable)
        }
        #expect(accepted(judge(nil).judge(head(200, ["Content-Length": "10", "Content-Length": "10"])))?.total == 10)
        let chunked = head(200, ["Content-Length": "10", "Transfer-Encoding": "chunked"])
        #expect(accepted(judge(nil).judge(chunked))?.expected == nil)
    }

    // MARK: 416

    @Test func a416ThatProvesTheEndCompletes() {
        let held = HeldBytes(checkpoint(100, etag: "\"a\""), trustedDigest: false)
        #expect(judge(held).judge(head(416, ["Content-Range": "bytes */100", "ETag": "\"a\""])) == .stop(.complete))
        #expect(isRestart(judge(held).judge(head(416, ["Content-Range": "bytes */100"]))))
        #expect(isRestart(judge(held).judge(head(416, ["Content-Range": "bytes */99", "ETag": "\"a\""]))))
        #expect(isRestart(judge(held).judge(head(416))))
    }

    /// An announced length is wrong if the answer to the range has the same version and gives another length.
    @Test func a416OfTheSameVersionCorrectsTheLength() {
        let held = HeldBytes(checkpoint(100, of: 1000, etag: "\"a\""), trustedDigest: false)
        #expect(judge(held).judge(head(416, ["Content-Range": "bytes */100", "ETag": "\"a\""])) == .stop(.complete))
        for fields in [
            ["Content-Range": "bytes */100"], ["Content-Range": "bytes */100", "ETag": "\"b\""],
            ["Content-Range": "bytes */1000", "ETag": "\"a\""], ["Content-Range": "bytes */99", "ETag": "\"a\""],
            ["Content-Range": "bytes 0-99/100", "ETag": "\"a\""], ["ETag": "\"a\""],
        ] {
            let answer = ResponseHead(
                url: "https://example.org/f", status: 416, headers: fields.map { HeaderField($0.key, $0.value) })
            #expect(isRestart(judge(held).judge(answer)), "\(fields)")
        }
    }

    // MARK: Errors

    @Test(arguments: [
        (400, ErrorCode.httpStatus, false), (401, .authRequired, false), (403, .httpStatus, false),
        (404, .httpStatus, false), (407, .authRequired, false), (408, .httpStatus, true), (410, .httpStatus, false),
        (421, .httpStatus, true), (425, .httpStatus, true), (429, .httpStatus, true), (500, .httpStatus, true),
        (501, .httpStatus, false), (502, .httpStatus, true), (503, .httpStatus, true), (504, .httpStatus, true),
        (505, .httpStatus, false), (511, .httpStatus, true),
        (520, .httpStatus, true), (524, .httpStatus, true), (525, .httpStatus, true), (509, .httpStatus, true),
        (529, .httpStatus, true), (530, .httpStatus, true), (598, .httpStatus, true), (599, .httpStatus, true),
        (506, .httpStatus, false), (507, .httpStatus, false), (508, .httpStatus, false), (510, .httpStatus, false),
        (423, .httpStatus, true), (202, .httpStatus, true),
        (304, .httpStatus, false), (300, .httpStatus, false),
    ])
    func statusesAreTransientOrNot(_ status: Int, _ code: ErrorCode, _ retryable: Bool) {
        guard case .stop(.failure(let error, let delay)) = judge(nil).judge(head(status)) else {
            Issue.record("\(status) was not a failure")
            return
        }
        #expect(error.code == code)
        #expect(error.retryable == retryable)
        #expect(error.details["status"] == .integer(Int64(status)))
        #expect(delay == nil)
    }

    @Test func whoRefusesForATimeIsAskedAgain() {
        for status in [403, 202] {
            guard
                case .stop(.failure(let error, let delay)) = judge(nil).judge(head(status, ["Retry-After": "7"]))
            else { return #expect(Bool(false), "\(status) was not a failure") }
            #expect(error.retryable && delay == 7)
        }
        guard case .stop(.failure(let error, _)) = judge(nil).judge(head(404, ["Retry-After": "7"])) else { return }
        #expect(!error.retryable)
    }

    @Test func retryAfterCountsFromTheServersDate() {
        let answer = head(
            503, ["Retry-After": "Sun, 06 Nov 1994 08:50:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"])
        guard case .stop(.failure(_, let delay)) = judge(nil).judge(answer) else {
            Issue.record("503 was not a failure")
            return
        }
        #expect(delay == 60)
    }
}
