import Testing
import TransferModel

@testable import TransferCore

/// A helper's answer goes through the strategy of HTTP. The tests check the requests, and what happens with each
/// answer.
struct HelperOrderTests {
    private static let url = "demo://place/name"

    private func strategy(_ checkpoint: Checkpoint? = nil, trustedDigest: Bool = false) throws -> any TransferStrategy<
        Arrival
    > {
        try StrategyRegistry.download(
            for: request(Self.url, checkpoint: checkpoint, trustedDigest: trustedDigest) {
                $0.headers = [HeaderField("X-Own", "1")]
            })
    }

    private func held(_ offset: Int64, of total: Int64? = 100, validator: String? = "v \"1\"") -> Checkpoint {
        checkpoint(offset, of: total, etag: validator.map(HelperOrder.tag))
    }

    private func exchange(_ checkpoint: Checkpoint? = nil, trustedDigest: Bool = false) throws -> Exchange {
        var strategy = try strategy(checkpoint, trustedDigest: trustedDigest)
        return try #require(strategy.next(after: nil).exchange)
    }

    @Test func validatorsOfAnyTextAreKept() {
        for text in ["", "v", "\"a\"", "W/\"a\"", "é\n%41", "a,b"] {
            #expect(HelperOrder.validator(of: HelperOrder.tag(of: text)) == text)
        }
        #expect(HelperOrder.validator(of: "Wed, 21 Oct 2015 07:28:00 GMT") == nil)
    }

    @Test func ordersSayWhatIsHeld() throws {
        let first = HelperOrder(try exchange())
        #expect(first.offset == 0 && first.validator == nil && first.url == Self.url && first.method == "GET")
        #expect(first.headers == [HeaderField("X-Own", "1")])
        let rest = HelperOrder(try exchange(held(40)))
        #expect(rest.offset == 40 && rest.validator == "v \"1\"" && rest.heldTotal == 100)
        // Without a validator, only a digest proves that the bytes belong together.
        #expect(HelperOrder(try exchange(held(40, validator: nil))).offset == 0)
        let trusted = HelperOrder(try exchange(held(40, validator: nil), trustedDigest: true))
        #expect(trusted.offset == 40 && trusted.validator == nil)
    }

    @Test func linesAreJSON() throws {
        var order = HelperOrder(try exchange(held(40)))
        order.body = .bytes([0, 255])
        let line = order.load(3)
        #expect(line.last == 10 && line.count { $0 == 10 } == 1)
        let value = try JSONCoding.decode(JSONValue.self, from: Array(line.dropLast()))
        #expect(
            value["type"] == "load" && value["id"] == 3 && value["offset"] == 40 && value["body"]?["base64"] == "AP8=")
        #expect(value["headers"] == [["X-Own", "1"]] && value["validator"] == "v \"1\"")
        let answer = try JSONCoding.decode(
            JSONValue.self, from: Array(HelperOrder.answer(3, ("u", "p")).dropLast()))
        #expect(answer["decision"] == "useCredential" && answer["credential"]?["password"] == "p")
    }

    private func verdict(_ response: HelperResponse, after held: Checkpoint? = nil) throws -> Verdict {
        let exchange = try exchange(held)
        return exchange.judge.judge(HelperOrder(exchange).head(of: response))
    }

    private func accepted(_ verdict: Verdict) -> Acceptance? {
        if case .accept(let found) = verdict { found } else { nil }
    }

    @Test func answersAreJudgedAsThoseOfHTTP() throws {
        let whole = try verdict(HelperResponse(offset: 0, length: 100, validator: "v"))
        #expect(accepted(whole)?.total == 100 && accepted(whole)?.validators.etag == "\"v\"")
        #expect(accepted(try verdict(HelperResponse(offset: 0)))?.total == nil)
        let rest = HelperResponse(offset: 40, length: 100, validator: "v \"1\"")
        #expect(accepted(try verdict(rest, after: held(40)))?.offset == 40)
        #expect(accepted(try verdict(rest, after: held(40)))?.expected == 60)
        // If the total length is known, the length of the rest is accepted too.
        var short = rest
        short.length = 60
        #expect(accepted(try verdict(short, after: held(40)))?.expected == 60)
        short.length = nil
        #expect(accepted(try verdict(short, after: held(40)))?.expected == 60)
        // With another version or another length the download starts over.
        for change in [{ $0.validator = "w" }, { $0.length = 99 }] as [(inout HelperResponse) -> Void] {
            var other = rest
            change(&other)
            guard case .stop(.restart) = try verdict(other, after: held(40)) else {
                Issue.record("\(other) is taken")
                continue
            }
        }
        // The helper starts over, so the answer is written from 0.
        let over = accepted(try verdict(HelperResponse(offset: 0, length: 100, validator: "v \"1\""), after: held(40)))
        #expect(over?.truncate == true && over?.offset == 0)
        guard case .stop(.failure(let error, _)) = try verdict(HelperResponse(offset: 0, status: 404)) else {
            Issue.record("404 is taken")
            return
        }
        #expect(error.code == .httpStatus)
    }

    /// A helper that finishes has no more, even if it has sent nothing.
    @Test func aHelperThatFinishesWithoutAByteHasAWrongLength() throws {
        var subject = try strategy()
        let order = HelperOrder(try #require(subject.next(after: nil).exchange))
        let outcome = ExchangeOutcome(
            end: .transport(code: 18, message: ""), head: order.head(of: HelperResponse(offset: 0, length: 5)))
        guard case .failed(let failure) = subject.next(after: outcome) else {
            Issue.record("it has not failed")
            return
        }
        #expect(failure.shortEnd?.received == 0 && failure.shortEnd?.announced == 5)
        #expect(failure.shortEnd?.proof == ShortEnd.proofByBodies)
    }

    /// What proves that a helper continues the held bytes.
    @Test func onlyTheSameValidatorContinues() throws {
        let order = HelperOrder(try exchange(held(40)))
        let rest = HelperResponse(offset: 40, length: 100, validator: "v \"1\"")
        #expect(order.isContinued(by: rest))
        for change in [{ $0.validator = "w" }, { $0.validator = nil }, { $0.offset = 0 }, { $0.length = 40 }]
            as [(inout HelperResponse) -> Void]
        {
            var other = rest
            change(&other)
            #expect(!order.isContinued(by: other), "\(other)")
        }
        // A digest proves the entire file, so no validator is needed.
        let trusted = HelperOrder(try exchange(held(40, validator: nil), trustedDigest: true))
        #expect(trusted.isContinued(by: HelperResponse(offset: 40)))
        // The end of the rest is unknown.
        let endless = HelperOrder(try exchange(held(40, of: nil)))
        #expect(!endless.isContinued(by: HelperResponse(offset: 40, validator: "v \"1\"")))
    }

    /// A helper's fields can neither frame the body nor set a validator or a cookie.
    @Test func framingIsTheProtocols() throws {
        let fields = ["Content-Length", "content-range", "ETag", "Date", "Transfer-Encoding", "Set-Cookie", "X-Other"]
        let response = HelperResponse(
            offset: 0, headers: fields.map { HeaderField($0, "1") }, suggestedFilename: "ä/..\u{0}b")
        let head = HelperOrder(try exchange()).head(of: response)
        #expect(head.headers.map(\.name) == ["X-Other", "Content-Disposition"])
        #expect(FilenameRules.suggested(head: head, url: Self.url).contains("/") == false)
    }

    private func redirect(to url: String, _ change: (inout Exchange) -> Void = { _ in }) throws -> StandingRequest {
        var exchange = try exchange()
        exchange.headers = [HeaderField("Authorization", "x"), HeaderField("Accept", "y")]
        change(&exchange)
        return try exchange.redirectOfHelper(to: url)
    }

    @Test func redirectsLeadToHTTPAndHelpersOnly() throws {
        let target = try redirect(to: "https://other/x")
        #expect(target.isForeign && target.redirects == 1 && target.request.url == "https://other/x")
        #expect(target.request.headers == [HeaderField("Accept", "y")])
        #expect(try redirect(to: "demo://place/z").request.headers?.count == 2)
        #expect(try redirect(to: "third:x").isForeign)
        for url in ["file:///etc/passwd", "ftp://h/x", "data:,x", "/relative", "", "http://"] {
            #expect(throws: TransferError.self, "\(url)") { try redirect(to: url) }
        }
        let local = #expect(throws: TransferError.self) { try redirect(to: "file:///etc/passwd") }
        #expect(
            local?.message == "The helper redirects to a URL of the scheme file. A helper may redirect only to http, "
                + "https or a scheme that has a helper.")
        let limit = #expect(throws: TransferError.self) {
            try redirect(to: "https://h/") { $0.network.redirectsBefore = $0.network.redirectLimit }
        }
        #expect(limit?.code == .httpRedirectLimit)
        let plain = #expect(throws: TransferError.self) {
            try redirect(to: "http://h/") { $0.network.allowsPlaintext = false }
        }
        #expect(plain?.code == .plaintextRefused)
    }

    @Test func challengesAreThoseOfServers() {
        let head = ResponseHead.challenge(of: Self.url, "a \"b\" \\", .httpBasic)
        let digest = ResponseHead.challenge(of: Self.url, "r", .httpDigest)
        #expect(ProtectionSpace.demands(digest, proxy: nil).first?.method == .httpDigest)
        let space = ProtectionSpace.demands(head, proxy: nil).first
        #expect(space?.realm == "a \"b\" \\" && space?.method == .httpBasic && space?.origin == "demo://place")
        #expect(
            ProtectionSpace.demands(.challenge(of: "demo:x", nil, .httpDigest), proxy: nil).first?.method == .httpDigest
        )
    }
}
