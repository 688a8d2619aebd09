import CCurl
import CLinux
import Glibc

/// What a crowd is spared: being woken for each kilobyte. Once a second a round reads what waits in the sockets, hands it
/// to the writers and has it synced, so that at most what came since the last one is only in memory.
extension Reactor {
    /// With the tick that a round begins at, a second.
    private static let roundInterval: Int64 = 950_000_000
    /// Transfers that a round comes to before others have their turn.
    private static let slice = 64

    /// Begins a round where one is due; called at each tick.
    func beginRoundIfDue() {
        if crowd.note(transfers.count), !crowd.isCrowded {
            round = []
            for transfer in transfers.all { transfer.leaveCrowd() }
        }
        guard crowd.isCrowded, round.isEmpty, now >= nextRound else { return }
        nextRound = now + Self.roundInterval
        round = transfers.all
    }

    /// Comes to the next transfers of the round; after the last one, what was read is synced.
    func continueRound() {
        guard !round.isEmpty else { return }
        for transfer in round.suffix(Self.slice) { visit(transfer) }
        round.removeLast(min(Self.slice, round.count))
        if round.isEmpty { files.lanes.beginRounds() }
    }

    private func visit(_ transfer: Transfer) {
        guard transfers.contains(transfer), let sink = transfer.sink else { return }
        transfer.setLowWater(isCrowded: true)
        if transfer.lowWater > 1, transfer.holds.isEmpty { read(transfer) }
        if transfer.isSlow(at: now), transfer.mayReadItself, !transfer.isPaused { takeOver(transfer) }
        transfer.flush(sink, now: now, age: 0)
        transfer.isInRounds = transfer.mayRestBetweenRounds
        endIfStalled(transfer)
    }

    /// Reads what is there, though it is less than the socket waits for.
    private func read(_ transfer: Transfer) {
        if transfer.readsItself { return receive(transfer) }
        var running: Int32 = 0
        curl_multi_socket_action(multi, transfer.socket, CURL_CSELECT_IN, &running)
    }
}

extension Transfer {
    /// Nothing of it has to be looked after more often.
    fileprivate var mayRestBetweenRounds: Bool {
        parser.httpVersion != nil && !isSending && holds.isEmpty
    }

    /// Bytes that a socket of a crowd gathers before it wakes anybody.
    private static let gatheredInSocket: Int64 = 16 << 10
    /// Of what comes through TLS, libcurl may hold an unfinished record; near the end nothing may be waited for.
    private static let tlsMargin: Int64 = 64 << 10

    /// Sets how many bytes the socket gathers: never more than are sure to come.
    func setLowWater(isCrowded: Bool) {
        let wanted = isCrowded ? sureToCome : 1
        guard wanted != lowWater, socket >= 0 else { return }
        var value = wanted
        if setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 {
            lowWater = wanted
        }
    }

    /// One connection for one body of known length: what others share, or may end at any byte, waits for nothing. A
    /// segment that ends before its answer does is over by the next round.
    private var sureToCome: Int32 {
        guard let remaining, parser.httpVersion?.hasPrefix("1") ?? false else { return 1 }
        if request.url.scheme != "http" { return remaining > Self.tlsMargin ? Int32(Self.gatheredInSocket) : 1 }
        return Int32(max(1, min(Self.gatheredInSocket, remaining)))
    }

    /// Each by itself again.
    func leaveCrowd() {
        isInRounds = false
        setLowWater(isCrowded: false)
    }
}
