import CCurl
import TransferCore
import TransferModel

/// Checks that no socket event triggers.
extension Reactor {
    private static let flushAge: Int64 = 90_000_000
    private static let discardTime: Int64 = 2_000_000_000
    /// An exchange that ends sooner is reported with its end.
    private static let lingerTime: Int64 = 1_000_000_000

    /// Checks that are due ten times a second: old bytes in buffers, checkpoints, silence.
    func inspect(_ transfer: Transfer) {
        if watchTokens(transfer) { return transfer.lastActivity = now }
        transfer.moveToFileIfOld(self, age: Self.flushAge)
        if now - transfer.began >= Self.lingerTime { transfer.context.observer.transferLingers() }
        if let sink = transfer.sink {
            if crowd.isCrowded { takeOverIfSlow(transfer) } else { transfer.flush(sink, now: now, age: Self.flushAge) }
            sink.board.checkpointIfDue(at: now)
        }
        if let since = transfer.discardingSince, now - since > Self.discardTime { return follow(transfer) }
        transfer.measureSending()
        endIfStalled(transfer)
    }

    func endIfStalled(_ transfer: Transfer) {
        let conversation = transfer.talk?.conversation
        if transfer.talk != nil, conversation?.isStarting ?? true { transfer.lastActivity = now }
        let waitsForAnother = conversation?.waitsForAnother == true
        if transfer.talk != nil { transfer.context.counters.setWaitsForAnother(waitsForAnother) }
        let limit = transfer.exchange.$network.wrappedValue.stallTimeout
        guard limit > 0, transfer.holds.isSubset(of: .room),
            now - transfer.lastActivity > limit.milliseconds * 1_000_000
        else { return }
        conclude(transfer, waitsForAnother ? Self.behindAnother : .stalled)
    }

    private static let behindAnother = ExchangeOutcome.End.stopped(
        .failure(
            TransferError(
                .networkTimeout,
                "The helper sent nothing for too long: its output waits for another task, which takes no bytes. Let that "
                    + "task continue, or cancel it.", retryable: true), retryAfter: nil))

    /// In FTPS and in FTP uploads, the data connection and the commands occasionally overtake each other. libcurl 7.88
    /// then watches the wrong socket. (Its own program polls once a second and does not notice.)
    func stepMissedEvents(of inspected: [Transfer]) {
        let mayMiss = inspected.contains { transfer in
            transfer.request.url.scheme == "ftps" || transfer.request.url.scheme == "ftp" && transfer.isSending
        }
        if mayMiss { dld_multi_step_all(multi) }
    }
}
