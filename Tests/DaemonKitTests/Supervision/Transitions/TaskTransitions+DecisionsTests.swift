import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct TaskTransitionsDecisionsTests {
    private func asking(_ fixture: SupervisionFixture) async throws -> TaskRecord {
        var session = SessionConfiguration()
        session.asks = [.begin]
        let added = try await fixture.add(hosts: ["a"], configuration: session)[0]
        let (transitions, key) = (fixture.transitions, fixture.key)
        return try await fixture.store.write { transaction in
            var task = try #require(try transaction.task(added.id))
            task.spec.earliestBeginAt = Timestamp(milliseconds: 0)
            try transaction.setSpec(task.id, task.spec, host: task.host)
            let record = try #require(try transaction.session(key))
            let claimed = try transitions.claim([task.id], sessions: [key: record], in: transaction)
            #expect(claimed.map(\.status.state) == [.waiting])
            return try #require(try transaction.task(task.id))
        }
    }

    private func waiting(_ fixture: SupervisionFixture) -> WaitingTasks {
        WaitingTasks(store: fixture.store, transitions: fixture.transitions, signal: SupervisionSignal())
    }

    private func wake(_ fixture: SupervisionFixture) async throws {
        _ = try await waiting(fixture).wake(at: fixture.time.reading(), limit: 10)
    }

    private func decision(_ task: TaskRecord, _ fixture: SupervisionFixture) async throws -> DecisionRecord? {
        try await fixture.store.read { try $0.decision(of: task.id) }
    }

    private func status(_ task: TaskRecord, _ fixture: SupervisionFixture) async throws -> TaskStatus? {
        try await fixture.store.read { try $0.task(task.id)?.status }
    }

    @Test func theDefaultIsTakenAfterAMinuteOfTheBootClock() async throws {
        let fixture = try SupervisionFixture()
        let task = try await asking(fixture)
        let asked = fixture.time.reading().wall
        #expect(task.status.state == .waiting && task.status.reason == .decision)
        #expect(task.status.nextAttemptAt == asked.advanced(by: 60))
        #expect(try await decision(task, fixture)?.question.deadline == asked.advanced(by: 60))
        // The wall clock is set forward, but no time has passed.
        fixture.time.jump(3600)
        try await wake(fixture)
        #expect(try await status(task, fixture)?.state == .waiting)
        #expect(
            try await status(task, fixture)?.nextAttemptAt == fixture.time.reading().wall.advanced(by: 60))
        fixture.time.advance(60)
        try await wake(fixture)
        #expect(try await status(task, fixture)?.state == .queued)
        let after = try #require(try await decision(task, fixture))
        #expect(after.state == .closed && after.settled.hasBegun == true)
        // It begins now, and asks nothing more.
        let (transitions, key) = (fixture.transitions, fixture.key)
        let claimed = try await fixture.store.write { transaction in
            let record = try #require(try transaction.session(key))
            return try transitions.claim([task.id], sessions: [key: record], in: transaction)
        }
        #expect(claimed.map(\.status.state) == [.running])
        let told = try await fixture.events().filter { $0.type == .taskDecision }
        #expect(told.count == 1)
    }

    @Test func aWallClockThatGoesBackLeavesTheMinute() async throws {
        let fixture = try SupervisionFixture()
        let task = try await asking(fixture)
        fixture.time.jump(-3600)
        let now = fixture.time.reading().wall
        _ = try await fixture.store.write { try $0.clockWentBack(by: 3600, to: now) }
        #expect(try await status(task, fixture)?.nextAttemptAt == now.advanced(by: 60))
    }

    @Test func aClientThatRetriesIsAskedAgain() async throws {
        let fixture = try SupervisionFixture()
        let task = try await asking(fixture)
        _ = try await fixture.apply(.retry, to: task.id)
        let closed = try #require(try await decision(task, fixture))
        #expect(closed.state == .closed && closed.settled.hasBegun == nil)
        let (transitions, key) = (fixture.transitions, fixture.key)
        let claimed = try await fixture.store.write { transaction in
            let record = try #require(try transaction.session(key))
            return try transitions.claim([task.id], sessions: [key: record], in: transaction)
        }
        #expect(claimed.map(\.status.state) == [.waiting])
        let again = try #require(try await decision(task, fixture))
        #expect(again.state == .open && again.id > closed.id)
        #expect(try await fixture.events().filter { $0.type == .taskDecision }.count == 2)
    }

    /// However it ends, what its questions settled and the secrets of its last answer are removed. The request that it
    /// made stays for its owner.
    @Test(arguments: [true, false]) func aTaskThatEndsForgetsItsSecrets(completes: Bool) async throws {
        let fixture = try SupervisionFixture()
        let task = try await asking(fixture)
        let (transitions, key) = (fixture.transitions, fixture.key)
        let answer = DecisionAnswer(.newRequest, request: TaskRequest(url: "https://a/?token=opensesame"))
        let record = try await fixture.store.write { transaction in
            let open = try #require(try transaction.decision(of: task.id))
            var settled = open.settled
            settled.answered(open.question, with: answer)
            #expect(settled.standing != nil)
            try transaction.answer(open.id, answer, settled: settled)
            _ = try transitions.apply(.conditionCleared, to: task.id, in: transaction)
            let session = try #require(try transaction.session(key))
            return try #require(try transitions.claim([task.id], sessions: [key: session], in: transaction).first)
        }
        #expect(record.settled?.standing != nil)
        if completes {
            let run = CompletedRun(record: record, result: TaskResult(bytes: 1, verified: false), duration: 1)
            _ = try await fixture.store.write { try transitions.complete([run], in: $0) }
        } else {
            _ = try await fixture.apply(.cancel(keepPartial: false), to: task.id)
        }
        let left = try #require(try await decision(task, fixture))
        var request = SettledDecisions()
        request.standing = record.settled?.standing
        #expect(left.state == .answered && left.settled == request)
        let stored = try #require(left.answer)
        #expect(stored.action == .newRequest && stored.request == nil)
        // It is nevertheless recognised, and no other answer is.
        #expect(answer.isSame(as: stored))
        let other = DecisionAnswer(.newRequest, request: TaskRequest(url: "https://a/?token=other"))
        #expect(!other.isSame(as: stored))
    }

    /// It was answered, and ends before its first attempt.
    @Test func aTaskThatNeverBeginsForgetsItsSecrets() async throws {
        let fixture = try SupervisionFixture()
        let task = try await asking(fixture)
        let transitions = fixture.transitions
        let answer = DecisionAnswer(.newRequest, request: TaskRequest(url: "https://a/?token=opensesame"))
        try await fixture.store.write { transaction in
            let open = try #require(try transaction.decision(of: task.id))
            var settled = open.settled
            settled.answered(open.question, with: answer)
            try transaction.answer(open.id, answer, settled: settled)
            _ = try transitions.apply(.conditionCleared, to: task.id, in: transaction)
        }
        #expect(try await decision(task, fixture)?.settled.standing != nil)
        _ = try await fixture.apply(.cancel(keepPartial: false), to: task.id)
        let left = try #require(try await decision(task, fixture))
        #expect(left.settled.asked == 0 && left.settled.hasBegun == nil && left.answer?.request == nil)
    }

    /// What would be refused is not offered.
    @Test func onlyWhatIsAcceptedIsOffered() async throws {
        let fixture = try SupervisionFixture()
        var session = SessionConfiguration()
        session.asks = [.response]
        let tasks = try await fixture.add(hosts: ["a", "b", "c"], configuration: session)
        let (transitions, key) = (fixture.transitions, fixture.key)
        let offered = try await fixture.store.write { transaction in
            for (task, method) in zip(tasks.dropFirst(), ["GET", "POST"]) {
                var spec = task.spec
                (spec.kind, spec.method) = (.data, method)
                try transaction.setSpec(task.id, spec, host: task.host)
            }
            let record = try #require(try transaction.session(key))
            _ = try transitions.claim(tasks.map(\.id), sessions: [key: record], in: transaction)
            let head = ResponseHead(url: "http://a/f", status: 200)
            return try tasks.map { task in
                try transitions.question(about: HeldAnswer(head: head), of: task.id, in: transaction).record?.question
                    .actions
            }
        }
        #expect(
            offered == [[.allow, .cancel], [.allow, .cancel, .becomeDownload], [.allow, .cancel, .becomeDownload]])
    }

    /// The answer is gone with the exchange, so the next one is asked about.
    @Test func aHeldAnswerWhoseRunIsBlockedIsAskedAboutNoMore() async throws {
        let fixture = try SupervisionFixture()
        var session = SessionConfiguration()
        session.asks = [.response]
        let task = try await fixture.add(hosts: ["a"], configuration: session)[0]
        let (transitions, key) = (fixture.transitions, fixture.key)
        try await fixture.store.write { transaction in
            let record = try #require(try transaction.session(key))
            _ = try transitions.claim([task.id], sessions: [key: record], in: transaction)
            let head = ResponseHead(url: "http://a/f", status: 200)
            #expect(
                try transitions.question(about: HeldAnswer(head: head), of: task.id, in: transaction).record?.state
                    == .open)
        }
        _ = try await fixture.apply(.blocked(.network, nil, nextAttemptAt: nil), to: task.id)
        let state = try await fixture.store.read { try $0.decision(of: task.id)?.state }
        #expect(state == .closed)
    }

    /// If a run is lost while a client is asked where its answer is stored, the answer is fetched again without a
    /// second question.
    @Test func whereAnAnswerIsStoredIsAskedOnce() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0].id
        let (transitions, key) = (fixture.transitions, fixture.key)
        let head = ResponseHead(url: "http://a/f", status: 200)
        let asked = try await fixture.store.write { transaction in
            let record = try #require(try transaction.session(key))
            _ = try transitions.claim([task], sessions: [key: record], in: transaction)
            let held = HeldAnswer(head: head, proposal: .memoryOnly)
            let first = try transitions.question(about: held, of: task, in: transaction).record
            let again = try transitions.question(about: held, of: task, in: transaction).record
            #expect(first != nil && first?.id == again?.id)
            #expect(first?.question.actions == [.store, .memoryOnly, .doNotStore])
            #expect(first?.question.default == .memoryOnly && first?.question.deadline != nil)
            #expect(try transitions.takeDefault(of: task, in: transaction) == .memoryOnly)
            let other = ResponseHead(url: "http://a/g", status: 200)
            guard case .settled(.memoryOnly) = try transitions.question(about: held, of: task, in: transaction) else {
                return false
            }
            return try transitions.question(about: HeldAnswer(head: other, proposal: .store), of: task, in: transaction)
                .record
                != nil
        }
        #expect(asked)
    }

    /// What a session knows is only for an attempt: another task's refusal or another key must not meet a copy of it.
    @Test func whatTheSessionKnowsIsNotStoredWithATask() async throws {
        let fixture = try SupervisionFixture()
        var session = SessionConfiguration()
        session.asks = [.challenge]
        let task = try await fixture.add(hosts: ["a"], configuration: session)[0]
        let (transitions, key) = (fixture.transitions, fixture.key)
        let policy = EffectivePolicy(spec: TaskSpec(), session: session)
        let now = fixture.time.reading().wall
        try await fixture.store.write { transaction in
            let record = try #require(try transaction.session(key))
            try transaction.trust(TrustedKey(origin: "https://b:443", key: "k"), in: key, at: now)
            let claimed = try #require(
                try transitions.claim([task.id], sessions: [key: record], in: transaction).first)
            #expect(claimed.settled?.spaces.map(\.key) == ["k"])
            var failure = AttemptFailure(error: TransferError(.tlsUntrusted, "Not trusted."), disposition: .permanent)
            failure.tls = TLSChallenge(
                origin: "https://c:443", .trust(key: "x", reason: "expired", isAnother: false, certificates: [[1]]))
            let event = TaskEvent.attemptFailed(failure, RetryPolicy(), jitter: 0)
            let asked = try transitions.question(inPlaceOf: event, of: claimed, policy, in: transaction)
            #expect(asked != nil)
            let stored = try #require(try transaction.decision(of: task.id))
            #expect(stored.settled.spaces.map(\.origin) == ["https://c:443"])
            let next = try transitions.settled(of: claimed, [.challenge], in: transaction)
            #expect(next?.spaces.contains { $0.key == "k" } == true)
        }
    }

    private func demanded(
        _ fixture: SupervisionFixture, _ offer: CredentialOffer?, failures: Int = 0,
        _ change: (inout EffectivePolicy) -> Void
    ) async throws -> (event: TaskEvent?, decision: DecisionRecord?) {
        let task = try await fixture.add(hosts: ["a"])[0]
        var policy = EffectivePolicy(spec: TaskSpec(), session: SessionConfiguration())
        policy.mayHaveCredentials = true
        change(&policy)
        let transitions = fixture.transitions
        return try await fixture.store.write { [policy] transaction in
            var record = try #require(try transaction.task(task.id))
            record.response = ResponseInfo(
                ResponseHead(url: "http://a/f", status: 401), requested: "http://a/f",
                verdict: .accept(Acceptance(offset: .zero)))
            if failures > 0 {
                var settled = SettledDecisions()
                var space = SettledDecisions.Space(origin: "http://a:80", isProxy: false)
                (space.username, space.failures) = ("anna", failures)
                settled.spaces = [space]
                let now = Timestamp(milliseconds: 0)
                try transaction.settle(settled, of: task.id, unasked: Question(.challenge), at: now)
            }
            var failure = AttemptFailure(error: TransferError(.authRequired, "No."), disposition: .permanent)
            failure.challenge = ResponseHead(url: "http://a/f", status: 401)
            let event = TaskEvent.attemptFailed(failure, RetryPolicy(), jitter: 0)
            let asked = try transitions.question(inPlaceOf: event, of: record, policy, offer, in: transaction)
            return (asked, try transaction.decision(of: task.id))
        }
    }

    private var demand: ProtectionSpace {
        ProtectionSpace(host: "a", port: 80, protocol: "http", realm: "r", method: .httpBasic, isProxy: false)
    }

    @Test func whatTheStoreHasIsSentWithoutAQuestion() async throws {
        var offer = CredentialOffer(space: demand)
        offer.found = FoundCredential(username: "anna", password: "secret", source: .store)
        let (event, decision) = try await demanded(try SupervisionFixture(), offer) { _ in }
        guard case .preempted(.challenge) = event else { return #expect(Bool(false), "\(String(describing: event))") }
        let known = try #require(decision)
        #expect(known.state == .closed && known.settled.spaces.map(\.username) == ["anna"])
        #expect(known.settled.spaces.map(\.password) == [nil])
    }

    /// Nobody has credentials: the task fails, or with any status accepted makes its request once more.
    @Test(arguments: [false, true]) func aDemandThatNobodyAnswersIsFinal(acceptsAnyStatus: Bool) async throws {
        let offer = CredentialOffer(space: demand)
        let (event, decision) = try await demanded(try SupervisionFixture(), offer) {
            $0.acceptsAnyStatus = acceptsAnyStatus
        }
        #expect((event != nil) == acceptsAnyStatus)
        #expect(decision?.settled.declinesCredentials == (acceptsAnyStatus ? true : nil))
    }

    /// Nothing can be offered, for example for an unknown proxy or after too many refusals.
    @Test(arguments: [false, true], [0, Bounds.credentialFailures])
    func aDemandThatNothingCanAnswerIsFinal(acceptsAnyStatus: Bool, failures: Int) async throws {
        let offer = failures > 0 ? CredentialOffer(space: demand) : nil
        let (event, decision) = try await demanded(try SupervisionFixture(), offer, failures: failures) {
            $0.acceptsAnyStatus = acceptsAnyStatus
        }
        #expect((event != nil) == acceptsAnyStatus)
        #expect(decision?.settled.declinesCredentials == (acceptsAnyStatus ? true : nil))
    }

    /// A client is asked after this many refusals; then one is final for it too.
    @Test(arguments: [false, true]) func afterTooManyRefusalsNobodyIsAsked(acceptsAnyStatus: Bool) async throws {
        let (event, decision) = try await demanded(
            try SupervisionFixture(), CredentialOffer(space: demand), failures: Bounds.credentialFailures
        ) {
            $0.acceptsAnyStatus = acceptsAnyStatus
            $0.asks = [.challenge]
        }
        #expect((event != nil) == acceptsAnyStatus)
        if acceptsAnyStatus {
            guard case .preempted(.challenge) = event else {
                return #expect(Bool(false), "\(String(describing: event))")
            }
            var policy = EffectivePolicy(spec: TaskSpec(), session: SessionConfiguration())
            policy.asks = [.challenge]
            policy.apply(try #require(decision).settled)
            #expect(!policy.answersChallenges)
        }
    }

    /// A task that waits for an answer says so, and not how to change the task.
    @Test func aTaskThatAsksAdvisesToAnswer() async throws {
        let (event, _) = try await demanded(try SupervisionFixture(), CredentialOffer(space: demand)) {
            $0.asks = [.challenge]
        }
        guard case .asked(_, let error, _, _) = event else {
            return #expect(Bool(false), "\(String(describing: event))")
        }
        #expect(
            error?.code == .authRequired && error?.message.contains("decision.answer") == true,
            "\(String(describing: error))")
    }

    @Test func aClientThatIsAskedSeesWhoseCredentialIsStored() async throws {
        var offer = CredentialOffer(space: demand)
        offer.proposedUser = "anna"
        let (event, decision) = try await demanded(try SupervisionFixture(), offer) { $0.asks = [.challenge] }
        guard case .asked = event else { return #expect(Bool(false), "\(String(describing: event))") }
        #expect(decision?.state == .open && decision?.question.proposedUser == "anna")
    }
}
