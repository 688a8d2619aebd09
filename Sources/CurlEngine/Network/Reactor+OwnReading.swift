import CCurl
import CLinux
import Glibc
import TransferCore
import TransferModel

/// Reads long and slow bodies from their sockets, without libcurl: it would copy each byte once more, and hold a
/// handle, a connection and a receive buffer for each waiting transfer.
///
/// It takes the socket of a plain HTTP/1 connection in the middle of a body with a length. libcurl keeps a dead socket
/// instead, so nothing that it does with the connection can reach the body.
extension Reactor {
    /// Bytes read for one transfer before others have their turn.
    private static let turn = 2 << 20

    /// Takes the sockets of the bodies that have begun since the last call; not from inside a callback.
    func takeOverWaiting() {
        guard !takeovers.isEmpty else { return }
        let candidates = takeovers
        takeovers = []
        for transfer in candidates where transfers.contains(transfer) && transfer.mayReadItself {
            // libcurl holds bytes of a paused transfer.
            transfer.isPaused ? takeovers.append(transfer) : takeOver(transfer)
        }
    }

    /// For a transfer of a crowd.
    func takeOverIfSlow(_ transfer: Transfer) {
        if transfer.isSlow(at: now), transfer.mayReadItself, !transfer.isPaused { takeOver(transfer) }
    }

    /// Takes the socket of a transfer that `mayReadItself` and is not paused. Has no effect if that is not possible.
    func takeOver(_ transfer: Transfer) {
        guard let socket = transfer.knownSocket else { return }
        // epoll knows the connection by this descriptor, which will belong to another socket.
        dld_epoll_forget(epoll, socket)
        let own = dld_take_connection(socket, deadSocket)
        guard own >= 0 else {
            dld_epoll_watch(epoll, socket, DLD_READABLE)
            return
        }
        transfer.isHandleClean = false
        takeHandle(transfer)
        transfer.socket = own
        transfer.readsItself = true
        readers[own] = transfer
        dld_epoll_watch(epoll, own, DLD_READABLE)
    }

    /// Reads what the socket has.
    func receive(_ transfer: Transfer) {
        var budget = Self.turn
        while budget > 0 {
            switch transfer.receive(self) {
            case .more(let count): budget -= count
            case .drained: return
            case .held: return pauseReading(transfer)
            case .over(let end): return conclude(transfer, end)
            }
        }
    }

    /// A socket that is not read is not watched: a reset would be reported again and again.
    private func pauseReading(_ transfer: Transfer) {
        transfer.isPaused = true
        dld_epoll_forget(epoll, transfer.socket)
    }

    func resumeReading(_ transfer: Transfer) {
        transfer.isPaused = false
        transfer.lastActivity = now
        dld_epoll_watch(epoll, transfer.socket, DLD_READABLE)
    }

    /// The transfer is over.
    func closeOwnSocket(_ transfer: Transfer) {
        guard transfer.readsItself else { return }
        transfer.marks.ended = now
        readers[transfer.socket] = nil
        dld_epoll_forget(epoll, transfer.socket)
        if transfer.interface == nil { close(transfer.socket) } else { lateCloses.add(transfer.socket, at: now) }
        transfer.socket = -1
        transfer.readsItself = false
    }
}

extension Transfer {
    /// The result of one read from the socket.
    enum Reception {
        /// This many bytes, and possibly there are more.
        case more(Int)
        case drained
        /// A reason to hold came up.
        case held
        case over(ExchangeOutcome.End)
    }

    /// Bodies with at least this much left are read without libcurl; a new connection for the next transfer costs less.
    private static let longBody: Int64 = 16 << 20
    /// The same while at least `largeCrowd` transfers run: the memory that libcurl takes for each of them costs more.
    private static let crowdedBody: Int64 = 64 << 10
    static let largeCrowd = 256
    /// A transfer of at least this age (nanoseconds) with fewer bytes a second is slow.
    private static let youngAge: Int64 = 200_000_000
    private static let slowRate: Int64 = 256 << 10
    /// A connection that is free again sooner (nanoseconds) is worth more than what own reading saves.
    private static let soon: Int64 = 2_000_000_000
    /// Less room than this is not filled up first.
    private static let shortestRead = 16 << 10
    /// Bytes read at a time if a limit applies.
    private static let limitedRead = 4 << 10

    /// libcurl's socket for the request; nil if it is not certain which one that is.
    var knownSocket: Int32? {
        var port = 0
        guard let easy, socket >= 0, dld_easy_get_long(easy, CURLINFO_LOCAL_PORT, &port) == CURLE_OK, port > 0,
            Int(dld_local_port(socket)) == port
        else { return nil }
        return socket
    }

    /// Whether the rest of the body is exactly what the socket brings: plain HTTP/1 with a length, over a connection of
    /// its own, and without a limit, which would make libcurl hold bytes back.
    var mayReadItself: Bool {
        guard case .store = use, let remaining, remaining > 0, ending == nil, easy != nil, exchange.kind == .download,
            feed == nil, request.url.scheme == "http", parser.httpVersion?.hasPrefix("1.") ?? false, limits.isEmpty,
            !EasySetup.mayUseProxy(exchange.$network), let length = parser.plainLength
        else { return false }
        return length == acceptance?.expected?.rawValue
    }

    /// The least number of bytes of a body that is read without libcurl from its beginning.
    /// - Parameter count: transfers that run.
    static func ownBody(among count: Int) -> Int64 { count < largeCrowd ? longBody : crowdedBody }

    /// Whether the transfer, one of a crowd, is so slow that losing its connection costs little.
    func isSlow(at now: Int64) -> Bool {
        Self.isSlow(age: now - began, received: received, remaining: remaining ?? 0)
    }

    /// - Parameters:
    ///   - age: nanoseconds since the exchange began.
    ///   - received: bytes of the body that came in that time.
    ///   - remaining: bytes of the body still to come.
    static func isSlow(age: Int64, received: Int64, remaining: Int64) -> Bool {
        guard age >= youngAge, received < age / 1_000_000 * slowRate / 1000 else { return false }
        return Double(remaining) * Double(age) >= Double(received) * Double(soon)
    }

    /// Reads once from the socket, which does not block, into the buffer.
    fileprivate func receive(_ reactor: Reactor) -> Reception {
        guard holds.isDisjoint(with: .receiving) else { return .held }
        let left = Int(clamping: remaining ?? 0)
        if buffer?.room ?? 0 < min(left, Self.shortestRead) {
            let waiting = max(1, Int(dld_readable_bytes(socket)))
            guard hasRoom(for: min(waiting, left, BufferPool.largeSize), reactor) else {
                holds.insert(.writer)
                return .held
            }
        }
        guard let buffer else { return .held }
        let wanted = min(buffer.room, left, limits.isEmpty ? .max : Self.limitedRead)
        let count = recv(socket, buffer.bytes + buffer.count, wanted, 0)
        if count < 0 { return failed(errno) }
        if count == 0 { return .over(endedEarly(left)) }
        lastActivity = reactor.now
        marks.ownBytes += Int64(count)
        if buffer.count == 0 { bufferedSince = reactor.now }
        let own = permitted(count)
        buffer.count += own
        kept(own, of: count)
        if let ending { return .over(ending) }
        if remaining == 0 { return .over(.finished) }
        // These bytes have passed; the next ones wait until the limits are no longer in debt for them.
        if !reactor.mayRead(self, count) { holds.insert(.rate) }
        charged = 0
        if !holds.isDisjoint(with: .receiving) { return .held }
        return count < wanted ? .drained : .more(count)
    }

    private func endedEarly(_ left: Int) -> ExchangeOutcome.End {
        .transport(
            code: Int(CURLE_PARTIAL_FILE.rawValue), message: "transfer closed with \(left) bytes remaining to read")
    }

    private func failed(_ code: Int32) -> Reception {
        if code == EAGAIN || code == EINTR { return .drained }
        return .over(
            .transport(
                code: Int(CURLE_RECV_ERROR.rawValue), message: "Recv failure: \(String(cString: strerror(code)))"))
    }
}
