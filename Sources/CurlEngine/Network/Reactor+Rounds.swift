import CCurl
import CLinux
import Glibc

/// Serves a crowd without waking it for each kilobyte. Once a second, a round reads what waits in the sockets, hands it
/// to the writers and has it synced. So only bytes that came since the last round are in memory alone.
extension Reactor {
    /// A second, together with the tick at which a round begins.
    private static let roundInterval: Int64 = 950_000_000
    /// Transfers that a round serves before others have their turn.
    private static let slice = 64
    /// With more bytes in buffers than this, a round pauses for this long (nanoseconds), because writing is slower than
    /// reading.
    private static let plenty = 4 << 20
    private static let pause: Int64 = 2_000_000
    /// This many bytes are worth a write of their own.
    private static let worthWriting = 4 << 10

    /// Begins a round if one is due; called at each tick.
    func beginRoundIfDue() {
        if crowd.note(transfers.count), !crowd.isCrowded {
            round = []
            for transfer in transfers.all {
                transfers.leave(transfer, toRounds: false)
                transfer.setLowWater(isCrowded: false)
            }
        }
        guard crowd.isCrowded, round.isEmpty, now >= nextRound else { return }
        nextRound = now + Self.roundInterval
        round = transfers.restless + transfers.resting
        if round.isEmpty { files.devices.beginRounds() }
    }

    /// Serves the next transfers of the round; after the last one, what was read is synced.
    func continueRound() {
        guard !round.isEmpty, now >= roundPause else { return }
        for transfer in round.suffix(Self.slice) { visit(transfer) }
        round.removeLast(min(Self.slice, round.count))
        if round.isEmpty { files.devices.beginRounds() }
        if buffers.lentBytes > Self.plenty { roundPause = now + Self.pause }
    }

    /// Has the buffer handed over at the end of this turn, once it is worth a write. If a thousand buffers waited for
    /// the round, they would take more memory than everything else that belongs to their transfers.
    func noteFilled(_ transfer: Transfer) {
        guard crowd.isCrowded, !transfer.isFilled, transfer.sink != nil, let buffer = transfer.buffer,
            buffer.count >= Self.worthWriting, buffer.capacity <= BufferPool.smallSize
        else { return }
        transfer.isFilled = true
        filled.append(transfer)
    }

    /// Hands over the bytes that came in this turn.
    func handOverFilled() {
        for transfer in filled {
            transfer.isFilled = false
            if transfers.contains(transfer), let sink = transfer.sink { transfer.flush(sink, now: now, age: 0) }
        }
        filled.removeAll(keepingCapacity: true)
    }

    private func visit(_ transfer: Transfer) {
        guard transfers.contains(transfer), let sink = transfer.sink else { return }
        transfer.setLowWater(isCrowded: true)
        if transfer.lowWater > 1, transfer.holds.isEmpty { read(transfer) }
        takeOverIfSlow(transfer)
        transfer.flush(sink, now: now, age: 0)
        transfers.leave(transfer, toRounds: transfer.mayRestBetweenRounds)
        endIfStalled(transfer)
    }

    /// Reads what is there, even if it is less than the socket waits for.
    private func read(_ transfer: Transfer) {
        if transfer.readsItself {
            // Without this check, a transfer that finds nothing would keep an empty buffer. An end or a reset is
            // reported whatever the socket waits for.
            return dld_readable_bytes(transfer.socket) > 0 ? receive(transfer) : ()
        }
        var running: Int32 = 0
        curl_multi_socket_action(multi, transfer.socket, CURL_CSELECT_IN, &running)
    }
}

extension Transfer {
    /// Whether rounds check it often enough, so that ticks can skip it.
    fileprivate var mayRestBetweenRounds: Bool {
        parser.httpVersion != nil && !isSending && holds.isEmpty
    }

    /// Bytes that a socket of a crowd gathers before it is reported.
    private static let gatheredInSocket: Int64 = 32 << 10
    /// With TLS, libcurl may hold an unfinished record, so near the end nothing may be waited for.
    private static let tlsMargin: Int64 = 64 << 10

    /// Sets how many bytes the socket gathers: never more than are certain to come.
    func setLowWater(isCrowded: Bool) {
        let wanted = isCrowded ? sureToCome : 1
        guard wanted != lowWater, socket >= 0 else { return }
        var value = wanted
        if setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 {
            lowWater = wanted
        }
    }

    /// Requires one connection for one body of known length: a shared connection, or a body that may end at any byte,
    /// waits for nothing. A segment that ends before its answer does is finished by the next round.
    private var sureToCome: Int32 {
        guard let remaining, parser.httpVersion?.hasPrefix("1") ?? false else { return 1 }
        if request.url.scheme != "http" { return remaining > Self.tlsMargin ? Int32(Self.gatheredInSocket) : 1 }
        return Int32(max(1, min(Self.gatheredInSocket, remaining)))
    }
}
