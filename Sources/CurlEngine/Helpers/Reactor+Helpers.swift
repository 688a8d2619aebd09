import CCurl
import TransferCore
import TransferModel

/// Transfers whose bytes come from a helper instead of libcurl. They use the same judge, sinks, holds and limits.
extension Reactor {
    /// The most bytes that are given to a sink at a time.
    private static let slice = BufferPool.smallSize

    func ask(_ transfer: Transfer, _ talk: HelperTalk) {
        transfer.lastActivity = now
        transfer.beginMeasuring(at: now)
        transfer.marks.usesProxy = 0
        transfer.marks.requested = now
        guard let helpers else {
            return conclude(
                transfer,
                .stopped(.failure(.helperFailed(talk.call.scheme, "is not there.", retryable: false), retryAfter: nil)))
        }
        talk.conversation = helpers.begin(talk.call) { [weak self] event in self?.post(.helper(transfer, event)) }
    }

    func heard(_ event: HelperEvent, of transfer: Transfer) {
        guard transfers.contains(transfer), let talk = transfer.talk, talk.end == nil else { return }
        transfer.lastActivity = now
        talk.add(event)
        drain(transfer, talk)
    }

    /// Handles the helper's events, until something holds the transfer.
    func drain(_ transfer: Transfer, _ talk: HelperTalk) {
        while talk.end == nil, transfer.holds.isDisjoint(with: .receiving), let event = talk.first {
            guard take(event, of: transfer, talk) else { return }
            if talk.end == nil { talk.removeFirst() }
        }
    }

    /// Ends the transfer as soon as no process writes its part file any more. The first end counts.
    func end(_ transfer: Transfer, _ talk: HelperTalk, _ end: ExchangeOutcome.End) {
        guard talk.end == nil else { return }
        talk.end = end
        transfer.marks.ended = now
        guard let conversation = talk.conversation else { return helperEnded(transfer) }
        conversation.end { [weak self] in self?.post(.helperEnded(transfer)) }
    }

    func helperEnded(_ transfer: Transfer) {
        guard let talk = transfer.talk, let end = talk.end, !talk.isOver else { return }
        talk.isOver = true
        conclude(transfer, end)
        // The conversation refers to this transfer. Otherwise they would keep each other alive.
        talk.conversation = nil
    }

    // MARK: Events

    /// Handles an event.
    /// - Returns: false if the event must be offered again later.
    private func take(_ event: HelperEvent, of transfer: Transfer, _ talk: HelperTalk) -> Bool {
        switch event {
        case .response(let response): answered(response, transfer, talk)
        case .data(let bytes): return store(bytes, transfer, talk)
        case .wrote(let offset): wrote(offset, transfer)
        case .finished: finished(transfer, talk)
        case .redirect(let url): redirected(to: url, transfer, talk)
        case .challenge(let realm, let method): challenged(realm, method, transfer, talk)
        case .cannotResume: conclude(transfer, Self.startsOver)
        case .failed(let error, let retryAfter): conclude(transfer, .stopped(.failure(error, retryAfter: retryAfter)))
        }
        return true
    }

    private static let startsOver = ExchangeOutcome.End.stopped(
        .restart(TransferError(.validatorChanged, "The helper begins at 0 again; the download restarts from 0.")))

    private func answered(_ response: HelperResponse, _ transfer: Transfer, _ talk: HelperTalk) {
        let order = talk.call.order
        // A helper that starts over and writes the file itself may write its first bytes before the file is emptied.
        let mayBeJudged = response.offset == 0 && talk.conversation?.writesPart != true
        guard order.offset == 0 || order.isContinued(by: response) || mayBeJudged else {
            return conclude(transfer, Self.startsOver)
        }
        let head = order.head(of: response)
        judge(head, transfer)
        guard transfer.exchange.kind == .request, order.method != "HEAD", head.status != 204, head.status != 304
        else { return }
        let length = head.values("content-length").first.flatMap { Int64($0) }
        talk.left = transfer.acceptance?.expected?.rawValue ?? length
    }

    private func judge(_ head: ResponseHead, _ transfer: Transfer) {
        transfer.marks.answered = now
        transfer.marks.headEnded = now
        transfer.judge(head, self)
        if let ending = transfer.ending { conclude(transfer, ending) }
    }

    private func store(_ bytes: [UInt8], _ transfer: Transfer, _ talk: HelperTalk) -> Bool {
        while talk.taken < bytes.count {
            let count = min(Self.slice, bytes.count - talk.taken)
            if let left = talk.left, left < count {
                conclude(transfer, .overrun)
                return true
            }
            let used = bytes.withUnsafeBytes { source in
                source.baseAddress.map { transfer.body($0 + talk.taken, count, reactor: self) } ?? 0
            }
            if used == DLD_WRITE_PAUSE { return false }
            talk.taken += used
            talk.left = talk.left.map { $0 - Int64(used) }
            transfer.marks.ownBytes += Int64(used)
            if let ending = transfer.ending ?? (used < count ? .overrun : nil) {
                conclude(transfer, ending)
                return true
            }
        }
        return true
    }

    private func wrote(_ offset: Int64, _ transfer: Transfer) {
        let count = offset - transfer.nextOffset
        guard count > 0, let sink = transfer.sink else { return }
        if let remaining = transfer.remaining, count > remaining { return conclude(transfer, .overrun) }
        spend(Int(count), of: transfer.limits)
        transfer.nextOffset = offset
        transfer.received += count
        transfer.marks.ownBytes += count
        transfer.remaining = transfer.remaining.map { $0 - count }
        sink.extend(to: offset)
    }

    private func finished(_ transfer: Transfer, _ talk: HelperTalk) {
        if let missing = talk.left, missing > 0 {
            let error = TransferError(
                .integrityLength,
                "The helper for \(talk.call.scheme) finished \(missing) bytes before the length that it announced.",
                retryable: true, details: ["scheme": .string(talk.call.scheme), "missing": .integer(missing)])
            return conclude(transfer, .stopped(.failure(error, retryAfter: nil)))
        }
        if let missing = transfer.remaining, missing > 0 {
            let message = "the helper finished \(missing) bytes early"
            return conclude(transfer, .transport(code: Int(CURLE_PARTIAL_FILE.rawValue), message: message))
        }
        if let sent = transfer.exchange.payload.length { transfer.context.counters.setSent(sent) }
        conclude(transfer, .finished)
    }

    // MARK: Redirects and challenges

    /// Handles a redirect to http, https or another helper; other schemes only a user may name. The exchange ends as it
    /// does for a redirect that a client is asked about, and the task continues at the target with the means of the
    /// target's scheme.
    private func redirected(to url: String, _ transfer: Transfer, _ talk: HelperTalk) {
        var head = ResponseHead(url: talk.call.order.url, status: 307, headers: [HeaderField("Location", url)])
        head.reason = "Temporary Redirect"
        transfer.head = head
        switch transfer.exchange.redirects {
        case .refuse, .answered:
            judge(head, transfer)
            if talk.end == nil { conclude(transfer, .finished) }
        case .follow, .ask:
            do throws(TransferError) {
                let target = try transfer.exchange.redirectOfHelper(to: url)
                let reason = StopReason.redirect(target)
                transfer.context.observer.transferResponded(head, verdict: .stop(reason))
                conclude(transfer, .stopped(reason))
            } catch {
                conclude(transfer, .refusedRedirect(error))
            }
        }
    }

    /// Sends a known credential once, and once that there is none, if a client has said so. Otherwise the exchange ends as
    /// after a server's 401.
    private func challenged(
        _ realm: String?, _ method: AuthenticationMethod, _ transfer: Transfer, _ talk: HelperTalk
    ) {
        let credential = transfer.exchange.credentialForHelper
        if !talk.hasAnswered, credential != nil || transfer.exchange.$network.wrappedValue.declinesCredentials {
            talk.hasAnswered = true
            talk.conversation?.answer(credential)
            return
        }
        let head = ResponseHead.challenge(of: talk.call.order.url, realm, method)
        let verdict = transfer.exchange.judge.judge(head)
        switch verdict {
        case .stop(let reason):
            transfer.head = head
            transfer.context.observer.transferResponded(head, verdict: verdict)
            conclude(transfer, .stopped(reason))
        case .accept where transfer.exchange.judge is CaptureJudge:
            transfer.head = head
            transfer.context.observer.transferResponded(head, verdict: verdict)
            conclude(transfer, .finished)
        // The task accepts the answer that comes without a credential.
        case .accept: talk.conversation?.answer(nil)
        }
    }
}
