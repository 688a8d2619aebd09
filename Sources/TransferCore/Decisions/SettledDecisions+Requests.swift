import TransferModel

/// Questions about the request itself: a redirect's target, and the task's first request.
extension SettledDecisions {
    /// A server redirects.
    /// - Returns: the question; nil if the client is not asked any more.
    package mutating func redirected(to target: StandingRequest, response: ResponseInfo?) -> Question? {
        var target = target
        if let standing {
            target.isForeign = target.isForeign || standing.isForeign
            target.crossedSites = target.crossedSites || standing.crossedSites
            target.redirects += standing.redirects
            if target.sendsOwnBody {
                target.request.body = standing.request.body
                target.sendsOwnBody = standing.sendsOwnBody
            }
        }
        return asks(.redirect, proposing: target, response: response)
    }

    /// The task may begin.
    /// - Returns: the question; nil if the client is not asked any more.
    package mutating func begins(_ spec: TaskSpec) -> Question? {
        let method = RequestHeaders.method(spec.method, hasBody: spec.body != nil || spec.source != nil)
        return asks(
            .begin, proposing: StandingRequest(TaskRequest(url: spec.url, method: method, headers: spec.headers)))
    }

    private mutating func asks(
        _ kind: DecisionKind, default: DecisionDefault? = nil, proposing request: StandingRequest? = nil,
        response: ResponseInfo? = nil
    ) -> Question? {
        guard asked < Bounds.decisions else { return nil }
        asked += 1
        proposed = request
        var question = Question(kind, default: `default`)
        question.response = response
        return question
    }

    /// The header of an answer has arrived, and none of its body has been accepted.
    /// - Returns: the question; nil if the answer is wanted, or the client is not asked any more.
    package mutating func responded(with head: ResponseHead, response: ResponseInfo) -> Question? {
        guard allowsAny != true, allowed != head.mark, let question = asks(.response, response: response) else {
            return nil
        }
        if responded != head.mark { stored = nil }
        responded = head.mark
        return question
    }

    /// An answer has arrived that the cache would store.
    /// - Parameter proposal: where it is stored if nobody answers.
    /// - Returns: the question; nil if it is settled, or if no client is asked any more.
    package mutating func stores(
        _ head: ResponseHead, response: ResponseInfo, proposing proposal: DecisionDefault
    ) -> Question? {
        guard decided(about: head) == nil, let question = asks(.cache, default: proposal, response: response) else {
            return nil
        }
        (responded, stored) = (head.mark, nil)
        return question
    }

    /// Where this answer is stored, if a client has decided about the same answer before, which was then lost.
    package func decided(about head: ResponseHead) -> DecisionAction? { responded == head.mark ? stored : nil }

    /// What a client's answer settles.
    package mutating func answered(_ question: Question, with answer: DecisionAnswer, at time: Int64? = nil) {
        switch question.kind {
        case .challenge: answeredChallenge(question, with: answer, at: time)
        case .redirect:
            guard answer.action != .refuse, answer.action != .follow || proposed?.losesUpload != true else {
                refusedStatus = question.response?.status ?? 0
                isAnswered = proposed.map { !$0.mayStepBack }
                break
            }
            standing = proposed?.changed(by: answer.request)
        case .begin:
            hasBegun = true
            if answer.action == .newRequest { standing = proposed?.changed(by: answer.request) }
        case .response:
            allowed = responded
            // A download requests the file without codings, so the answer differs.
            allowsAny = answer.action == .becomeDownload ? true : nil
        case .cache: stored = answer.action
        }
        proposed = nil
    }
}

extension StandingRequest {
    /// With a client's changes.
    fileprivate func changed(by change: TaskRequest?) -> StandingRequest {
        guard let change else { return self }
        var changed = self
        if let url = change.url {
            changed.request.url = url
            let isElsewhere = Self.origin(url) != Self.origin(request.url ?? "")
            changed.isForeign = isForeign || isElsewhere
            // Fields meant for another server are not sent here.
            if isElsewhere {
                changed.request.headers = request.headers?.filter { RequestHeaders.crossesOrigins($0.name) }
            }
        }
        if let method = change.method { changed.request.method = method }
        if let headers = change.headers { changed.request.headers = headers }
        if change.body != nil || ["GET", "HEAD"].contains(change.method?.uppercased()) {
            changed.request.body = change.body
            changed.sendsOwnBody = false
        }
        return changed
    }

    private static func origin(_ url: String) -> String? { (try? URLRules.parse(url))?.hostKey }
}

extension ResponseHead {
    /// Two answers with the same mark are the same answer for a client that decides: same URL, version and content
    /// description.
    package var mark: String {
        let fields = [
            "etag", "last-modified", "content-length", "content-type", "content-encoding", "content-disposition",
        ]
        let values = fields.map { self.values($0).joined(separator: ",") }
        return ([url, status.map(String.init) ?? ""] + values).joined(separator: "\n")
    }
}

extension DecisionDefault {
    /// The action that is taken if nobody answers; nil if the question waits.
    package var action: DecisionAction? {
        switch self {
        case .wait, .reject: nil
        case .follow: .follow
        case .allow: .allow
        case .continue: .continue
        case .store: .store
        case .memoryOnly: .memoryOnly
        }
    }
}

extension DecisionRecord {
    /// Time until the default is taken, on the boot clock; nil if it is never taken. After a reboot, only the time that
    /// the new clock proves counts as passed.
    package func timeLeft(at now: ClockReading) -> Seconds? {
        guard let patience = question.default.patience, let asked = settled.askedAt else { return nil }
        let passed = now.boot >= asked ? now.boot - asked : max(0, now.boot)
        return Seconds(max(0, patience.rawValue - Double(passed) / 1000))
    }
}

extension TaskSpec {
    /// Whether the request may be repeated to get its answer.
    /// - Parameter standing: the request that replaces the task's own.
    package func mayBeAskedAgain(_ standing: StandingRequest?) -> Bool {
        var hasBody = body != nil
        if let standing, !standing.sendsOwnBody { hasBody = standing.request.body != nil }
        let method = standing == nil ? method : standing?.request.method
        return RepeatRules.isIdempotent(RequestHeaders.method(method, hasBody: hasBody))
    }
}

extension StrategyRequest {
    /// Makes `standing` replace the task's own request.
    package mutating func ask(_ standing: StandingRequest) {
        if !standing.isForeign, !network.isOwnRefused, network.username == nil,
            let own = spec.url.flatMap({ try? URLRules.parse($0) }),
            let user = own.username
        {
            network.username = user
            network.password = own.password
        }
        spec.url = standing.request.url ?? spec.url
        spec.method = standing.request.method
        spec.headers = standing.request.headers
        guard !standing.sendsOwnBody else { return }
        spec.body = standing.request.body
        spec.contentType = nil
        source = nil
        upload = nil
        // Without a file to send, an upload becomes a plain request.
        if spec.kind == .upload {
            spec.kind = .data
            spec.source = nil
        }
    }
}

/// A request whose redirect was refused and which is not made again: the stored redirect is its answer, or the file.
struct AnsweredRequest<Yield: Sendable>: TransferStrategy {
    let step: Step<Yield>
    var progress: Acceptance? { nil }

    func next(after outcome: ExchangeOutcome?) -> Step<Yield> { step }
}

extension TransferError {
    static func redirectRefused(_ status: Int) -> TransferError {
        TransferError(
            .httpStatus,
            "The server redirected the request (\(status)), which was not followed: a client refused, or nothing would "
                + "prove that the upload arrived. With acceptsAnyStatus the redirect is the task's answer.",
            details: ["status": .integer(Int64(status))])
    }
}
