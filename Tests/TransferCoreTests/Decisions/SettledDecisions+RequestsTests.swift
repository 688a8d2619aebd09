import Testing
import TransferModel

@testable import TransferCore

@Suite struct SettledDecisionsRequestsTests {
    private static let own = "https://a.example/file"

    private func target(
        _ url: String = "https://a.example/there", foreign: Bool = false, sendsOwnBody: Bool = true
    ) -> StandingRequest {
        StandingRequest(
            TaskRequest(url: url, method: "GET", headers: [HeaderField("X-Key", "k"), HeaderField("Accept", "*/*")]),
            sendsOwnBody: sendsOwnBody, isForeign: foreign, redirects: 1)
    }

    private func answered(
        _ settled: inout SettledDecisions, _ target: StandingRequest, _ answer: DecisionAnswer
    ) -> StandingRequest? {
        guard let question = settled.redirected(to: target, response: nil) else { return nil }
        settled.answered(question, with: answer)
        return settled.standing
    }

    private func policy(_ settled: SettledDecisions) -> EffectivePolicy {
        var session = SessionConfiguration()
        session.asks = [.redirect]
        session.httpAdditionalHeaders = [HeaderField("X-Session", "s")]
        var spec = TaskSpec()
        (spec.url, spec.bearer, spec.netrc) = (Self.own, "token", "/netrc")
        var policy = EffectivePolicy(spec: spec, session: session)
        policy.apply(settled)
        return policy
    }

    @Test func redirectsAddUpAndStayForeign() {
        var settled = SettledDecisions()
        _ = answered(&settled, target("https://b.example/x", foreign: true), DecisionAnswer(.follow))
        let standing = answered(&settled, target("https://b.example/y"), DecisionAnswer(.follow))
        #expect(standing?.isForeign == true && standing?.redirects == 2)
        let policy = policy(settled)
        #expect(policy.network.bearer == nil && policy.network.netrcPath == nil && policy.sessionHeaders.isEmpty)
        #expect(policy.network.redirectsBefore == 2)
        #expect(policy.url(of: Boxed(wrappedValue: TaskSpec())) == "https://b.example/y")
    }

    /// After a redirect to another site, the redirecting site counts as the one that navigates, whatever the client
    /// answers (RFC 6265bis section 5.2).
    @Test func crossedSitesStayCrossed() {
        var settled = SettledDecisions()
        #expect(!policy(settled).cookies.crossedSites)
        var crossing = target("https://b.example/x", foreign: true)
        crossing.crossedSites = true
        let change = DecisionAnswer(.followWith, request: TaskRequest(url: Self.own))
        #expect(answered(&settled, crossing, change)?.crossedSites == true)
        #expect(answered(&settled, target(), DecisionAnswer(.follow))?.crossedSites == true)
        #expect(policy(settled).cookies.crossedSites)
    }

    /// A data task asks for codings and a download does not, so the server's answers differ.
    @Test func whatBecomesAFileIsAskedAboutOnce() throws {
        func head(_ coding: String?) -> ResponseHead {
            let fields = coding.map { [HeaderField("Content-Encoding", $0)] } ?? []
            return ResponseHead(url: Self.own, status: 200, headers: fields)
        }
        for (action, isAsked) in [(DecisionAction.allow, true), (.becomeDownload, false)] {
            var settled = SettledDecisions()
            let response = ResponseInfo(url: Self.own)
            let first = settled.responded(with: head("gzip"), response: response)
            settled.answered(try #require(first), with: DecisionAnswer(action))
            let second = settled.responded(with: head(nil), response: response)
            #expect((second != nil) == isAsked)
        }
    }

    /// The choice whether to store an answer is settled for this answer only.
    @Test func whereAnAnswerIsStoredIsSettledForIt() throws {
        func head(_ tag: String) -> ResponseHead {
            ResponseHead(url: Self.own, status: 200, headers: [HeaderField("ETag", tag)])
        }
        var settled = SettledDecisions()
        let response = ResponseInfo(url: Self.own)
        let first = settled.stores(head("a"), response: response, proposing: .store)
        #expect(first?.kind == .cache && first?.default == .store)
        settled.answered(try #require(first), with: DecisionAnswer(.doNotStore))
        #expect(settled.decided(about: head("a")) == .doNotStore && settled.decided(about: head("b")) == nil)
        #expect(settled.stores(head("a"), response: response, proposing: .store) == nil)
        let wanted = settled.responded(with: head("b"), response: response)
        settled.answered(try #require(wanted), with: DecisionAnswer(.allow))
        #expect(settled.decided(about: head("b")) == nil)
        settled.asked = Bounds.decisions
        #expect(settled.stores(head("b"), response: response, proposing: .store) == nil)
    }

    @Test func whatAnAnswerDoesNotNameStays() {
        var settled = SettledDecisions()
        let change = DecisionAnswer(.followWith, request: TaskRequest(method: "HEAD"))
        let same = answered(&settled, target(), change)
        #expect(same?.request.url == "https://a.example/there" && same?.request.headers?.count == 2)
        #expect(same?.request.method == "HEAD" && same?.sendsOwnBody == false && same?.isForeign == false)
    }

    @Test func fieldsStayWithTheirServer() {
        var settled = SettledDecisions()
        let change = DecisionAnswer(.followWith, request: TaskRequest(url: "https://c.example/"))
        let other = answered(&settled, target(), change)
        #expect(other?.isForeign == true && other?.request.headers == [HeaderField("Accept", "*/*")])
        let given = DecisionAnswer(
            .followWith, request: TaskRequest(url: "https://c.example/", headers: [HeaderField("X-Key", "k")]))
        #expect(answered(&settled, target(), given)?.request.headers == [HeaderField("X-Key", "k")])
    }

    @Test func aBodyOfAnAnswerGoesOn() {
        var settled = SettledDecisions()
        var body = RequestBody()
        body.text = "new"
        let first = answered(
            &settled, target(), DecisionAnswer(.followWith, request: TaskRequest(method: "PUT", body: body)))
        #expect(first?.request.body == body && first?.sendsOwnBody == false)
        #expect(answered(&settled, target(), DecisionAnswer(.follow))?.request.body == body)
        #expect(answered(&settled, target(sendsOwnBody: false), DecisionAnswer(.follow))?.request.body == nil)
    }

    @Test(arguments: [true, false]) func aRefusalLeavesTheRequest(mayStepBack: Bool) throws {
        var settled = SettledDecisions()
        var (wanted, response) = (target(), ResponseInfo(url: Self.own, headers: []))
        wanted.mayStepBack = mayStepBack
        response.status = 303
        let asked = settled.redirected(to: wanted, response: response)
        let question = try #require(asked)
        settled.answered(question, with: DecisionAnswer(.refuse))
        #expect(settled.standing == nil && settled.proposed == nil)
        #expect(policy(settled).redirects == (mayStepBack ? .refuse : .answered(status: 303, body: nil)))
    }

    @Test func aKeptRedirectIsTheAnswer() throws {
        var prepared = request(Self.own)
        prepared.redirects = .answered(status: 302, body: Array("moved".utf8))
        for kind in [TaskKind.data, .download] {
            prepared.spec.kind = kind
            prepared.acceptsAnyStatus = true
            if kind == .data {
                var answered = try StrategyRegistry.upload(for: prepared)
                guard case .finished(let result) = answered.next(after: nil) else {
                    Issue.record("it goes on")
                    continue
                }
                #expect(result.head == nil && result.body == Array("moved".utf8))
            } else {
                var answered = try StrategyRegistry.download(for: prepared)
                guard case .finished(let arrival) = answered.next(after: nil) else {
                    Issue.record("it goes on")
                    continue
                }
                #expect(arrival.head == nil && arrival.total == 5)
            }
        }
        prepared.acceptsAnyStatus = false
        let error = #expect(throws: TransferError.self) { try StrategyRegistry.download(for: prepared) }
        #expect(error?.code == .httpStatus && error?.details["status"] == 302)
    }

    @Test func nobodyIsAskedWithoutEnd() {
        var settled = SettledDecisions()
        var asked = 0
        while let question = settled.redirected(to: target(), response: nil) {
            asked += 1
            settled.answered(question, with: DecisionAnswer(.follow))
        }
        #expect(asked == Bounds.decisions && policy(settled).redirects == .follow)
    }

    @Test func theBeginningIsAskedAboutOnce() throws {
        var settled = SettledDecisions()
        var spec = TaskSpec()
        (spec.url, spec.headers) = (Self.own, [HeaderField("X-Key", "k")])
        let asked = settled.begins(spec)
        let question = try #require(asked)
        #expect(question.default == .continue && settled.proposed?.request.method == "GET")
        settled.answered(question, with: DecisionAnswer(.continue))
        #expect(settled.hasBegun == true && settled.standing == nil)
        settled.answered(
            question, with: DecisionAnswer(.newRequest, request: TaskRequest(url: "https://c.example/")))
        #expect(settled.standing == nil, "nothing was proposed any more")
    }

    /// The default applies after the given time on the boot clock. After a reboot, only the time that the new clock
    /// proves counts.
    @Test func timeIsLeftOnTheBootClock() {
        var record = DecisionRecord(
            id: DecisionID(1), task: TaskID(1), session: .shared(of: UserID(1)), state: .open,
            question: Question(.begin), askedAt: Timestamp(milliseconds: 0), answer: nil, settled: SettledDecisions())
        record.settled.askedAt = 100_000
        func left(_ boot: Int64) -> Seconds? {
            record.timeLeft(at: ClockReading(wall: Timestamp(milliseconds: 9_000_000_000), boot: boot))
        }
        #expect(left(100_000) == 60 && left(130_000) == 30 && left(160_000) == 0 && left(1_000_000) == 0)
        #expect(left(10_000) == 50)
        record.question = Question(.challenge)
        #expect(left(100_000) == nil)
    }
}
