import CCurl
import CLinux
import Glibc
import TransferCore
import TransferModel

/// The sending half of a transfer: the work of libcurl's read, seek and begin callbacks. Like those of the other half,
/// they run inside curl calls on the reactor's thread, and only note what the reactor acts on afterwards.
extension Transfer {
    /// The most bytes at a time if a rate is limited.
    static let limitedPiece = 16 << 10

    /// Whether the request under way carries the payload.
    var isSending: Bool { feed != nil && request.sendsPayload }

    /// Everything that the request carries was handed to the network.
    var isSentWhole: Bool { !isSending || sent >= feed?.length ?? 0 }

    /// Provides the next bytes of the body, a pause, or the end of the transfer.
    func send(into target: UnsafeMutableRawPointer, _ room: Int, _ reactor: Reactor) -> Int {
        guard let feed, ending == nil, isPlaced() else { return DLD_READ_ABORT }
        let pushed = feed.collect()
        reactor.spend(pushed ?? 0, of: sendLimits)
        let allowance = reactor.maySend(self)
        guard allowance > 0 else { return pauseSending(.sendRate) }
        let most = sendLimits.isEmpty ? .max : min(Self.limitedPiece, allowance)
        var read = feed.read(into: target, min(room, most))
        if read == .push { read = push(feed, most, after: pushed, reactor) }
        switch read {
        case .bytes(let count):
            if count > 0 {
                marks.sent = reactor.now
                bodyBegins(reactor)
            }
            reactor.spend(count, of: sendLimits)
            return count
        case .wait: return pauseSending(.source)
        case .push: return pauseSending(.room)
        case .failed(let end):
            ending = end
            return DLD_READ_ABORT
        }
    }

    /// Has the next bytes sent without libcurl: after those that libcurl has, and when the socket takes them.
    private func push(_ feed: PayloadFeed, _ most: Int, after pushed: Int?, _ reactor: Reactor) -> PayloadFeed.Read {
        bodyBegins(reactor)
        if let socket = lastWords?.socket, uploaded == feed.position {
            if pushed == nil { return feed.push(to: socket, atMost: min(most, PayloadFeed.longestTurn)) }
            reactor.readers[socket.fileDescriptor] = self
            dld_epoll_watch(reactor.epoll, socket.fileDescriptor, DLD_WRITABLE | DLD_ONCE)
            return .push
        } else if lastWords == nil, socket >= 0 {
            return .failed(.transport(code: Int(CURLE_SEND_ERROR.rawValue), message: "the connection is not known"))
        } else {
            reactor.post(.sendingChanged(self))
        }
        return .wait
    }

    /// Bytes of the body that libcurl, or we, have sent.
    private var uploaded: Int64 {
        var bytes: curl_off_t = 0
        if let easy { dld_easy_get_offset(easy, CURLINFO_SIZE_UPLOAD_T, &bytes) }
        return Int64(bytes) + (feed?.pushed ?? 0)
    }

    private func bodyBegins(_ reactor: Reactor) {
        context.counters.setTransferring(true)
        // A body that fits into one piece is sent before anybody could object to it.
        if lastWords == nil, request.url.scheme == "http", feed?.length ?? 0 > PayloadFeed.copiedBeginning {
            lastWords = knownSocket.flatMap { LastWords(of: $0) }
        }
        guard expectsContinue, !isQuestionSettled else { return }
        isQuestionSettled = true
        reactor.expectations.wasIgnored(by: request.origin, at: reactor.now)
    }

    private func pauseSending(_ hold: Hold) -> Int {
        holds.insert(hold)
        isSendPaused = true
        return DLD_READ_PAUSE
    }

    /// libcurl rewinds for a challenge or a dead connection. FTP and SFTP: it has just learned where the remote file
    /// ends and would resume there.
    func seek(to offset: Int64) -> Bool {
        guard let feed else { return false }
        if request.url.isHTTP { return feed.seek(to: offset) }
        placedAt = offset
        return isPlaced() && feed.seek(to: 0)
    }

    /// FTP and SFTP: whether the remote file still has the probed length. To append to any other file, or to leave a
    /// hole in it, would corrupt it.
    private func isPlaced() -> Bool {
        let wanted = exchange.startOffset.rawValue
        guard !request.url.isHTTP, wanted > 0, placedAt != wanted else { return true }
        let now = placedAt.map { "\($0)" } ?? "no"
        ending = .stopped(
            .restart(
                TransferError(
                    .validatorChanged, "The remote file had \(wanted) bytes and now has \(now); it is checked again.")
            ))
        return false
    }

    /// A request is about to be sent. Returns false if it is a repetition by libcurl itself that might act twice.
    ///
    /// RFC 9110 section 9.2.2: a connection that died before any answer may still have carried the request.
    func beginRequest() -> Bool {
        if requestsBegun > 0 {
            guard parser.isComplete || request.isIdempotent else {
                ending = .transport(
                    code: Int(CURLE_GOT_NOTHING.rawValue),
                    message: "the connection died before an answer, and the request may have been acted on")
                return false
            }
            reportRepetition()
            resetForRequest()
        }
        requestsBegun += 1
        hasBegun = true
        guard isSending, let feed else { return true }
        // Bytes that libcurl read ahead but did not send would be missing.
        return feed.seek(to: 0)
    }

    // MARK: Figures

    /// Updates the counters; `atEnd` fixes how much was sent in the end.
    func measureSending(atEnd: Bool = false) {
        guard isSending, easy != nil else { return }
        // A piece may still be on its way from the file to the socket: all of it may arrive.
        let bytes = uploaded + (atEnd ? Int64(feed?.pushing ?? 0) : 0)
        let socket = request.url.isHTTP ? socket : -1
        let waiting = socket >= 0 ? max(0, Int64(dld_socket_unacknowledged(socket))) : 0
        // Fewer than before: counted again after a challenge. Acknowledged bytes are a sign of life, even if the
        // system's buffer accepts no more for a long time.
        if bytes != sent || waiting < unacknowledged { lastActivity = now }
        sent = bytes
        unacknowledged = waiting
        publishSent(atEnd ? sent : max(0, sent - waiting))
    }

    /// Requests without the file (creation, completion) do not change the task's figures.
    private func publishSent(_ count: Int64) {
        switch exchange.payload {
        case .none: break
        case .bytes: if source == nil { context.counters.setSent(ByteCount(count)) }
        case .source(let offset, _): context.counters.setSent(offset + ByteCount(count))
        case .framed: context.counters.setSent(ByteCount(count))
        }
    }

    /// Announces the total to be sent.
    func announceLength() {
        switch exchange.payload {
        case .none: break
        case .bytes(let bytes): if source == nil { context.counters.setToSend(Int64(bytes.count)) }
        case .source(let offset, let length):
            let size = source?.identity.size ?? (offset + length)
            context.counters.setToSend(size.rawValue)
            context.counters.setSent(offset)
        case .framed:
            context.counters.setToSend(exchange.payload.length?.rawValue ?? -1)
        }
    }

    private var now: Int64 { reactor?.now ?? lastActivity }

    // MARK: The answer

    /// An interim answer is complete.
    func interimEnded() {
        guard let status = parser.status, status != 100 else {
            isQuestionSettled = true
            return
        }
        let head = ResponseHead(
            url: request.url.text, status: status, httpVersion: parser.httpVersion, reason: parser.reason,
            headers: parser.headers, redirects: request.redirects)
        if interim.count < Self.interimLimit { interim.append(head) }
        if let progress = exchange.interimReader?(head) {
            context.observer.transferProgressed(progress)
        }
    }

    static let interimLimit = 64

    /// The final header has arrived: decides what it means for the body that is being sent. Returning false ends the
    /// transfer here.
    func answered(_ reactor: Reactor) -> Bool {
        guard isSending else { return true }
        marks.bodySent = uploaded
        continueRefused = expectsContinue && uploaded == 0 && (parser.status ?? 0) >= 300
        // libcurl stops sending at an error, but a pause would keep the transfer from ending.
        if isSendPaused { reactor.post(.sendingChanged(self)) }
        isQuestionRefused = parser.status == 417 && expectsContinue
        return !isQuestionRefused
    }

    /// For a request without a file, the answer is the result: its length is the task's.
    func announceAnswer() {
        guard source == nil, request.method?.uppercased() != "HEAD" else { return }
        let length = parser.values("content-length").first.flatMap { Int64($0) }
        context.counters.setReceived(.zero)
        context.counters.setExpected(length ?? -1)
    }

    /// Keeps a piece of the answer's body. Returns how many bytes were taken.
    func capture(_ bytes: UnsafeRawPointer, _ count: Int) -> Int {
        received += Int64(count)
        if source == nil { context.counters.setReceived(ByteCount(received)) }
        let room = Int(clamping: exchange.responseLimit.rawValue) - captured.count
        captured.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: min(max(0, room), count)))
        guard count > room else { return count }
        isCaptureTruncated = true
        guard exchange.stopsAtResponseLimit else { return count }
        ending = .finished
        return 0
    }
}

/// CURLOPT_READFUNCTION(3).
let sendBody: dld_body_callback = { bytes, size, count, context in
    guard let bytes, let context else { return DLD_READ_ABORT }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    guard let reactor = transfer.reactor else { return DLD_READ_ABORT }
    return transfer.send(into: UnsafeMutableRawPointer(bytes), size * count, reactor)
}

/// CURLOPT_SEEKFUNCTION(3).
let seekBody: dld_seek_callback = { context, offset, origin in
    guard let context, origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.seek(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

/// CURLOPT_PREREQFUNCTION(3).
let beginRequest: dld_begin_callback = { context, remote, local, remotePort, localPort in
    guard let context else { return CURL_PREREQFUNC_ABORT }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    guard transfer.beginRequest() else { return CURL_PREREQFUNC_ABORT }
    transfer.noteRequest(
        remote: ExchangeMetrics.Endpoint(remote, Int(remotePort)),
        local: ExchangeMetrics.Endpoint(local, Int(localPort)))
    return CURL_PREREQFUNC_OK
}

extension Reactor {
    func forgetRoom(in socket: BodySocket?) {
        guard let socket = socket?.fileDescriptor, readers.removeValue(forKey: socket) != nil else { return }
        dld_epoll_forget(epoll, socket)
    }

    /// Whether the request asks before it sends.
    func asksFirst(_ transfer: Transfer) -> Bool {
        guard transfer.isSending, !transfer.isQuestionRefused, let feed = transfer.feed else { return false }
        return expectations.apply(
            to: ByteCount(feed.length), isWanted: transfer.exchange.expectsContinue,
            mayBeChallenged: transfer.request.hasCredentials || transfer.tokens != nil,
            origin: transfer.request.origin, at: now)
    }
}
