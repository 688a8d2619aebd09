import CCurl
import TransferModel

/// What has to be looked after though no socket says so.
extension Reactor {
    private static let flushAge: Int64 = 90_000_000
    private static let discardTime: Int64 = 2_000_000_000
    /// What is over sooner is told with its end.
    private static let lingerTime: Int64 = 1_000_000_000

    /// What has to be looked after ten times a second: old bytes in buffers, checkpoints, silence.
    func inspect(_ transfer: Transfer) {
        transfer.moveToFileIfOld(self, age: Self.flushAge)
        if now - transfer.began >= Self.lingerTime { transfer.context.observer.transferLingers() }
        if let sink = transfer.sink {
            if !crowd.isCrowded { transfer.flush(sink, now: now, age: Self.flushAge) }
            sink.checkpointIfDue(at: now)
        }
        if let since = transfer.discardingSince, now - since > Self.discardTime { return follow(transfer) }
        transfer.measureSending()
        endIfStalled(transfer)
    }

    func endIfStalled(_ transfer: Transfer) {
        let limit = transfer.exchange.$network.wrappedValue.stallTimeout
        guard limit > 0, transfer.holds.isEmpty, now - transfer.lastActivity > limit.milliseconds * 1_000_000
        else { return }
        conclude(transfer, .stalled)
    }

    /// The data connection of FTPS, and of an FTP upload, and the commands beside it overtake each other now and then,
    /// and libcurl 7.88 then watches the wrong socket (its own program polls once a second and does not notice).
    func stepMissedEvents(of inspected: [Transfer]) {
        let mayMiss = inspected.contains { transfer in
            transfer.request.url.scheme == "ftps" || transfer.request.url.scheme == "ftp" && transfer.isSending
        }
        if mayMiss { dld_multi_step_all(multi) }
    }
}
