import CCurl
import CLinux
import TransferCore
import TransferModel

/// What makes transfers wait and continue: files that are behind, pieces not yet read, rates. On the reactor's thread.
extension Reactor {
    // MARK: Sinks and holds

    func makeSink(_ transfer: Transfer, _ part: PartFile, _ acceptance: Acceptance) -> PartSink {
        let sink = files.sink(
            part, acceptance, transfer.context, on: transfer.segment?.board,
            isWrittenByHelper: transfer.talk?.conversation?.writesPart ?? false
        ) { [weak self] in self?.post(.sinkChanged(transfer)) }
        sink.open()
        return sink
    }

    func sinkChanged(_ transfer: Transfer) {
        guard transfers.contains(transfer) else { return }
        if let failure = transfer.sink?.failure {
            return conclude(transfer, .local(errno: failure.errno, operation: failure.operation))
        }
        release(transfer, .writer)
        noteFilled(transfer)
    }

    /// - Parameter begin: prepares for the body.
    func goOn(_ transfer: Transfer, after hold: Transfer.Hold, _ begin: () -> Void) {
        guard transfers.contains(transfer), transfer.holds.contains(hold) else { return }
        transfer.holds.subtract(hold)
        begin()
        if let ending = transfer.ending, !transfer.holds.contains(.restart) { return conclude(transfer, ending) }
        release(transfer, hold)
    }

    /// The answer that `held` holds is that of `transfer`, which is never on the network itself.
    func `continue`(_ held: Transfer, as transfer: Transfer) {
        held.isContinued = true
        transfer.standIn = held
        guard transfers.contains(held) else { return transfer.refuse(Self.lost) }
        transfer.feed?.end()
        goOn(held, after: .answer) { held.become(transfer, self) }
    }

    private static let lost = ExchangeOutcome.End.transport(
        code: Int(CURLE_RECV_ERROR.rawValue), message: "the connection ended while the answer waited")

    func buffersFreed() {
        for transfer in transfers.all {
            if transfer.holds.contains(.writer) { release(transfer, .writer) }
            if transfer.holds.contains(.source) { transfer.feed?.prefetch() }
        }
    }

    /// Removes reasons to hold; without any reason left, libcurl continues, and may call a callback at once.
    func release(_ transfer: Transfer, _ hold: Transfer.Hold) {
        transfer.holds.subtract(hold)
        let reads = transfer.isPaused && transfer.holds.isDisjoint(with: .receiving)
        let sends = transfer.isSendPaused && transfer.holds.isDisjoint(with: .sending)
        if transfer.readsItself { return reads ? resumeReading(transfer) : () }
        if let talk = transfer.talk {
            transfer.isPaused = transfer.isPaused && !reads
            transfer.lastActivity = now
            return drain(transfer, talk)
        }
        guard reads || sends, let easy = transfer.easy else { return }
        if reads { transfer.isPaused = false }
        if sends { transfer.isSendPaused = false }
        transfer.lastActivity = now
        let held = (transfer.isPaused ? CURLPAUSE_RECV : 0) | (transfer.isSendPaused ? CURLPAUSE_SEND : 0)
        let code = curl_easy_pause(easy, held)
        // An end that the callback noted, or an error, is only returned here: libcurl does not report the transfer as
        // done.
        if let ending = transfer.ending {
            conclude(transfer, ending)
        } else if code == CURLE_BAD_FUNCTION_ARGUMENT {
            // Its connection has ended in this same round. There is nothing left to continue, and how it ended is
            // reported as done.
        } else if code != CURLE_OK {
            conclude(transfer, failure(code, transfer))
        }
    }

    // MARK: Rates

    /// Whether all limits of the transfer let `count` bytes that arrived pass now. If not, the transfer is woken when
    /// they do, and the same bytes come again. They are charged once, when they are first seen, so the transfer that
    /// waits longest passes first.
    func mayRead(_ transfer: Transfer, _ count: Int) -> Bool {
        guard !transfer.limits.isEmpty else { return true }
        let time = rateClock()
        let missing = count - transfer.charged
        if missing > 0 {
            for limit in transfer.limits { transfer.dueAt = max(transfer.dueAt, limit.charge(missing, at: time)) }
            transfer.charged = count
        }
        guard transfer.dueAt > time else { return true }
        holdBack(transfer, until: max(transfer.dueAt, time + SharedBucket.shortestWait))
        return false
    }

    /// How many bytes all limits of the transfer allow it to send now; if none, the transfer is woken when they do.
    func maySend(_ transfer: Transfer) -> Int {
        guard !transfer.sendLimits.isEmpty else { return .max }
        let time = rateClock()
        var wake = time
        var allowance = ByteCount(.max)
        for limit in transfer.sendLimits {
            wake = max(wake, limit.wait(at: time) ?? time)
            allowance = min(allowance, limit.bucket.allowance(at: time))
        }
        guard wake > time else { return Int(clamping: allowance.rawValue) }
        holdBack(transfer, until: wake)
        return 0
    }

    private func holdBack(_ transfer: Transfer, until wake: Int64) {
        rateWaiters.append(transfer)
        rateDeadline = min(rateDeadline ?? .max, wake)
    }

    /// Accounts for bytes that have passed.
    func spend(_ count: Int, of limits: [SharedBucket]) {
        guard count > 0, !limits.isEmpty else { return }
        let time = rateClock()
        for limit in limits { limit.bucket.spend(ByteCount(Int64(count)), at: time) }
    }

    func wakeRateWaiters() {
        let waiters = rateWaiters
        rateWaiters.removeAll(keepingCapacity: true)
        rateDeadline = nil
        for transfer in waiters where transfers.contains(transfer) {
            release(transfer, [.rate, .sendRate])
        }
    }

    func setLimits(_ transfer: Transfer) {
        transfer.limits = limiter.buckets(of: transfer.context)
        let time = rateClock()
        transfer.dueAt =
            transfer.charged > 0 ? transfer.limits.map { $0.bucket.nextAvailable(.zero, at: time) }.max() ?? 0 : 0
        transfer.sendLimits = sendLimiter.buckets(of: transfer.context)
    }

    /// Changes limits of one direction, with effect on running transfers at once.
    func change(_ direction: RateDirection, _ body: (inout RateLimiter) -> Bool) {
        let isChanged =
            switch direction {
            case .receiving: body(&limiter)
            case .sending: body(&sendLimiter)
            }
        guard isChanged else { return }
        for transfer in transfers.all { setLimits(transfer) }
        wakeRateWaiters()
    }
}
