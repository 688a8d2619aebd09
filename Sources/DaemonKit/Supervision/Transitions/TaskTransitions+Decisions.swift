import TransferCore
import TransferModel
import TransferStore

/// Questions to clients. They are asked, closed and answered by default in the transaction that changes the task's
/// state.
extension TaskTransitions {
    /// A question exists as long as its task waits for the answer.
    func followQuestion(
        of id: TaskID, _ event: TaskEvent, from before: TaskStatus, to after: TaskStatus,
        in transaction: StoreTransaction
    ) throws {
        switch event {
        case .retargeted: return try transaction.forgetDecisions(of: id) { try $0.redacted() }
        case .retry where before.state.isFinal: return try transaction.forgetDecisions(of: id) { try $0.redacted() }
        case .claimed, .attemptFailed, .integrityFailed, .completed, .pause, .resume, .cancel, .retry, .preempted,
            .daemonRestarted, .conditionCleared, .blocked, .asked, .deadlinePassed, .resourceTimeoutPassed:
            break
        }
        let mayHaveAsked = before.awaitsAnswer || before.state == .running && after.isBeyondHeldAnswers
        if mayHaveAsked, !after.awaitsAnswer {
            if case .conditionCleared = event { try takeDefault(of: id, in: transaction) }
            try transaction.closeDecision(of: id)
        }
        // A task that was never claimed may have been answered too, about whether it may begin. The check costs one
        // indexed read.
        if after.state.isFinal, !before.state.isFinal {
            try transaction.forgetSecrets(of: id, keepsBody: after.state == .completed) { try $0.redacted() }
        }
    }

    /// Closes the open question of a task, because nobody has answered in time, and applies its default.
    /// - Returns: the decision; nil if nothing was asked.
    @discardableResult
    func takeDefault(of id: TaskID, in transaction: StoreTransaction) throws -> DecisionAction? {
        guard var asked = try transaction.decision(of: id) else { return nil }
        guard asked.state == .open, let action = asked.question.default.action else { return asked.answer?.action }
        asked.settled.answered(asked.question, with: DecisionAnswer(action))
        try transaction.closeDecision(of: id, settled: asked.settled)
        return action
    }

    /// Tells whether the question of a waiting task has time left after all, because the wall clock was set but the
    /// boot clock was not.
    func postponedDefault(of record: TaskRecord, in transaction: StoreTransaction) throws -> Bool {
        let now = time.reading()
        guard record.status.reason == .decision, let open = try transaction.decision(of: record.id),
            open.state == .open, let left = open.timeLeft(at: now), left > 0
        else { return false }
        var status = record.status
        status.nextAttemptAt = now.wall.advanced(by: left)
        return try transaction.update(record.id, from: .waiting, to: status)
    }

    /// Returns what the questions of a task have settled, and the keys that its session trusts. This is for an attempt,
    /// and must never be stored.
    func settled(
        of record: TaskRecord, _ asks: Set<DecisionKind>, in transaction: StoreTransaction
    ) throws -> SettledDecisions? {
        var own = try transaction.decision(of: record.id)?.settled
        if own?.isAnswered == true { own?.refusedBody = try transaction.body(of: record.id, .response) }
        guard asks.contains(.challenge) else { return own }
        let trusted = try transaction.trustedKeys(record.session)
        return trusted.isEmpty ? own : (own ?? SettledDecisions()).adding(trusted)
    }

    /// Returns the question to ask instead of ending the attempt; nil if no client is asked.
    /// - Parameters:
    ///   - record: the task with its last answer, as stored.
    ///   - policy: the policy of the attempt.
    ///   - offer: the credentials found for a challenge.
    func question(
        inPlaceOf event: TaskEvent, of record: TaskRecord, _ policy: EffectivePolicy, _ offer: CredentialOffer? = nil,
        in transaction: StoreTransaction
    ) throws -> TaskEvent? {
        guard case .attemptFailed(let failure, _, _) = event else { return nil }
        var settled = try transaction.decision(of: record.id)?.settled ?? SettledDecisions()
        if policy.asks.contains(.challenge), let challenge = failure.tls {
            return try settled.challenged(challenge).map {
                try asked($0, of: record, settled, .authentication, because: failure.error, in: transaction)
            }
        }
        // A proxy that refuses CONNECT has not answered a request of the task.
        let hasAnswer = failure.challenge.map { $0.status == record.response?.status } ?? true
        var shown = hasAnswer ? record.response?.withoutSecrets : nil
        shown?.body = nil
        if var target = failure.redirect, let shown {
            if policy.asks.contains(.redirect), try keep(failure.redirectBody, of: record, in: transaction) {
                target.mayStepBack = false
            }
            let question = settled.redirected(to: target, response: shown)
            guard !policy.asks.contains(.redirect) else {
                return try question.map { try asked($0, of: record, settled, .decision, in: transaction) }
            }
            // A redirect to a helper's URL is followed as if a client had allowed it.
            guard let question else { return nil }
            settled.answered(question, with: DecisionAnswer(.follow))
            try transaction.settle(settled, of: record.id, unasked: question, at: time.reading().wall)
            return .preempted(.redirect)
        }
        guard policy.answersChallenges || offer?.found != nil, offer != nil || failure.challenge != nil else {
            return nil
        }
        let now = time.reading().wall
        let question: Question? = offer.flatMap { offer in
            let own = Self.ownCredential(of: record, for: offer.space, policy)
            let isRefused = own == nil && !offer.isOwnDropped || offer.wasOwnSent
            if isRefused, offer.space.isProxy || Self.isOwn(offer.space, of: record, policy) {
                settled.refuseOwn(by: offer.space)
            }
            return settled.challenged(
                offer.space, ownUser: offer.wasOwnSent ? own?.username : nil,
                response: shown ?? failure.challenge.map { ResponseInfo($0, of: record).withoutSecrets },
                at: failure.challenge?.url,
                isRedirected: failure.challenge.map { settled.isRedirected($0) } ?? false)
        }
        if var question, let offer {
            if let found = offer.found {
                settled.use(found, for: offer.space, at: failure.challenge?.url)
                try transaction.settle(settled, of: record.id, unasked: question, at: now)
                return .preempted(.challenge)
            }
            if policy.asks.contains(.challenge) {
                question.proposedUser = question.proposedUser ?? offer.proposedUser
                question.reason = offer.kerberos
                return try asked(
                    question, of: record, settled, .authentication, because: failure.error, in: transaction)
            }
        }
        // The refusal itself is the answer. It is fetched again with its body.
        guard policy.acceptsAnyStatus, shown != nil, settled.declinesCredentials != true else { return nil }
        settled.declinesCredentials = true
        settled.declinesChallenges = true
        var unasked = question ?? Question(.challenge)
        unasked.response = shown
        try transaction.settle(settled, of: record.id, unasked: unasked, at: now)
        return .preempted(.challenge)
    }

    /// Keeps the body of a redirect until a client has decided, so that a refused one is the answer as it came.
    /// - Returns: false if the request must be made again for it.
    private func keep(
        _ body: [UInt8]?, of record: TaskRecord, in transaction: StoreTransaction
    ) throws -> Bool {
        try transaction.setBody(record.id, .response, nil)
        guard let body else { return false }
        do {
            try transaction.setBody(record.id, .response, body)
            return true
        } catch let error as TransferError where error.code == .limitReached {
            return false
        }
    }

    /// Asks about an answer that the task's run holds. The task continues to run.
    func question(about held: HeldAnswer, of id: TaskID, in transaction: StoreTransaction) throws -> HeldQuestion {
        guard let record = try readable(id, in: transaction), record.status.state == .running else {
            return .settled(nil)
        }
        let (known, head) = (try transaction.decision(of: id), held.head)
        if let known, known.state == .open, known.question.kind == held.kind, known.settled.responded == head.mark {
            return .open(known)
        }
        var settled = known?.settled ?? SettledDecisions()
        let info = ResponseInfo(head, of: record).withoutSecrets
        let question: Question? =
            if let proposal = held.proposal {
                settled.stores(head, response: info, proposing: proposal)
            } else {
                settled.responded(with: head, response: info)
            }
        guard let question,
            case .asked(_, _, _, let payload) = try asked(question, of: record, settled, .decision, in: transaction)
        else { return .settled(held.kind == .cache ? settled.decided(about: head) : nil) }
        _ = try transaction.append(
            EventRecord(
                time: time.reading().wall, type: .taskDecision, session: record.session, task: id, payload: payload))
        return try transaction.decision(of: id).map { .open($0) } ?? .settled(nil)
    }

    /// If a run ends while a client is asked about its answer, the task waits for the decision and then makes its
    /// request again. Returns nil if nothing is asked, or if the end is final.
    func wait(inPlaceOf event: TaskEvent, of id: TaskID, in transaction: StoreTransaction) throws -> TaskEvent? {
        switch event {
        case .attemptFailed(let failure, _, _):
            guard failure.disposition != .permanent else { return nil }
        case .preempted, .daemonRestarted: break
        case .claimed, .integrityFailed, .completed, .pause, .resume, .cancel, .retry, .retargeted, .conditionCleared,
            .blocked, .asked, .deadlinePassed, .resourceTimeoutPassed:
            return nil
        }
        let now = time.reading()
        guard let open = try transaction.decision(of: id), open.state == .open, let left = open.timeLeft(at: now)
        else { return nil }
        return .blocked(.decision, nil, nextAttemptAt: now.wall.advanced(by: left))
    }

    /// Returns the question to ask before a task begins that has waited for its time; nil if no client is asked.
    func questionBeforeBegin(of record: TaskRecord, in transaction: StoreTransaction) throws -> TaskEvent? {
        var settled = try transaction.decision(of: record.id)?.settled ?? SettledDecisions()
        guard settled.hasBegun != true, let question = settled.begins(record.spec) else { return nil }
        return try asked(question, of: record, settled, .decision, in: transaction)
    }

    /// Returns the task's own user name and password, if they may go to this protection space.
    static func ownCredential(
        of record: TaskRecord, for space: ProtectionSpace, _ policy: EffectivePolicy
    ) -> (username: String, password: String?)? {
        guard !policy.network.isOwnRefused, isOwn(space, of: record, policy) else { return nil }
        if let username = policy.network.username { return (username, policy.network.password) }
        guard let url = try? URLRules.parse(record.spec.url ?? "") else { return nil }
        return url.username.map { ($0, url.password) }
    }

    /// Tells whether this is the server of the task's own URL.
    private static func isOwn(_ space: ProtectionSpace, of record: TaskRecord, _ policy: EffectivePolicy) -> Bool {
        guard !space.isProxy, let url = try? URLRules.parse(record.spec.url ?? "") else { return false }
        return url.hostKey == space.origin || policy.network.obeysHSTS && url.securedHostKey == space.origin
    }

    /// Stores a question.
    /// - Returns: the event that makes its task wait.
    private func asked(
        _ question: Question, of record: TaskRecord, _ settled: SettledDecisions, _ reason: WaitReason,
        because error: TransferError? = nil, in transaction: StoreTransaction
    ) throws -> TaskEvent {
        let now = time.reading()
        var (question, settled) = (question, settled)
        settled.askedAt = now.boot
        question.deadline = question.default.patience.map { now.wall.advanced(by: $0) }
        question.request = settled.proposed?.shown
        question.offered = question.actionsOfKind.filter { $0 != .becomeDownload || record.spec.kind == .data }
        let decision = try transaction.ask(question, of: record.id, at: now.wall, settled: settled) {
            try $0.redacted()
        }
        var payload = JSONMembers()
        payload.add("decision", decision.rawValue)
        let told = JSONCoding.encode(question)
        payload.add(try JSONMembers(stored: String(decoding: told, as: UTF8.self)))
        return .asked(reason, error?.asking(question), until: question.deadline, payload: payload)
    }
}

/// An answer that a run holds while a client decides about it.
struct HeldAnswer: Sendable {
    var head: ResponseHead
    /// Where it would be stored by default, if it is complete; nil if only its header is here, and no byte of its body
    /// has been read.
    var proposal: DecisionDefault?

    var kind: DecisionKind { proposal == nil ? .response : .cache }
}

/// The result of a question about a held answer.
enum HeldQuestion: Sendable {
    /// It may be the question of an earlier attempt.
    case open(DecisionRecord)
    /// The earlier decision about the same answer; nil to continue with the default.
    case settled(DecisionAction?)
}

extension TaskStatus {
    /// No answer is held any more, so nobody needs to decide about one.
    fileprivate var isBeyondHeldAnswers: Bool { state == .paused || state == .waiting || state.isFinal }
}

extension TransferError {
    /// The same error while a client is asked. Its sentence says to answer the question.
    fileprivate func asking(_ question: Question) -> TransferError {
        guard let space = question.protectionSpace else { return self }
        var error = self
        let place = space.isProxy ? "The proxy \(space.origin)" : space.origin
        let answer = "a client is asked (decision.list, decision.answer)."
        error.message =
            switch space.method {
            case .httpBasic, .httpDigest, .ntlm, .negotiate: "\(place) wants credentials; \(answer)"
            case .clientCertificate: "\(place) wants a certificate; \(answer)"
            case .serverTrust: "The certificate of \(place) is not trusted; \(answer)"
            }
        return error
    }
}

extension StandingRequest {
    /// The request as clients see it.
    fileprivate var shown: TaskRequest {
        let url = request.url.map { redirects > 0 ? URLRules.withoutSecrets($0) : URLRules.withoutCredentials($0) }
        return TaskRequest(url: url, method: request.method, headers: request.headers?.map(\.maskedWithValue))
    }
}
