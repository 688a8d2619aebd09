import CCurl
import Glibc
import TransferCore
import TransferModel

/// The work of libcurl's callbacks. They run on the reactor's thread, inside calls of libcurl, so they must not use the
/// multi handle. They only note an end or a hold, and the reactor acts on it afterwards.
extension Transfer {
    /// Reads a header line. Returns how many bytes were taken; any other number than `count` ends the transfer.
    func headerLine(_ bytes: UnsafeRawPointer, _ count: Int, reactor: Reactor) -> Int {
        // A header line is not progress, but the header's end is: a server that drips lines would hold its slot for
        // ever.
        if !isHTTP { lastActivity = reactor.now }
        let line = UnsafeRawBufferPointer(start: bytes, count: count)
        if isOfTunnel {
            _ = tunnel?.line(line)
            return count
        }
        if marks.answered == 0 { noteAnswer(reactor) }
        headLength += count
        guard headLength <= Self.longestHead else {
            ending = .transport(
                code: 56, message: "Too large response headers: more than \(Self.longestHead) bytes")
            return 0
        }
        // Lines after the body of an accepted answer are trailers, even if they look like another header.
        if parser.isComplete, acceptance != nil {
            parser.trailer(line)
            return count
        }
        // The dialogue of FTP commands arrives here too; only HTTP has headers.
        switch parser.line(line) {
        case .none: return count
        case .interimEnded:
            reactor.answers.note(status: parser.status)
            interimCount += 1
            marks.answered = 0
            if interimCount <= Self.patientInterims { lastActivity = reactor.now }
            interimEnded()
            return count
        case .headEnded:
            lastActivity = reactor.now
            marks.headEnded = reactor.now
            return headEnded(reactor) ? count : 0
        }
    }

    /// True if a header that arrives now belongs to an answer to CONNECT: the request's own final header is not
    /// awaited.
    private var isOfTunnel: Bool {
        tunnel != nil && (requestsBegun == 0 || parser.isComplete && acceptance == nil)
    }

    /// Each of the first interim answers (RFC 9110 section 15.2) to a request lets it wait again for the final answer.
    private static let patientInterims = 10

    /// Bytes of all headers, interim ones included, and trailers of one request. libcurl limits headers to less than
    /// that, but not trailers.
    private static let longestHead = 512 << 10

    private func headEnded(_ reactor: Reactor) -> Bool {
        reactor.answers.note(status: parser.status)
        guard answered(reactor) else { return false }
        if parser.status == 401 { wasChallenged = true }
        keepCookies()
        learnHost()
        if redirectTarget != nil { return beginDiscarding(reactor) }
        if !mayBeAnswered { judge(reactor) }
        return ending == nil
    }

    /// The target of a redirect that is followed or asked about.
    var redirectTarget: String? {
        guard let status = parser.status, (300..<400).contains(status), request.url.isHTTP,
            !exchange.finalStatuses.contains(status)
        else { return nil }
        return parser.redirectTarget(exchange.redirects)
    }

    /// libcurl may still answer a challenge: such a header is final only when a body or the end comes.
    private var mayBeAnswered: Bool { parser.isChallenge && (parser.status == 407 || request.hasCredentials) }

    /// A redirect's short body is read so that the connection stays usable; a long one is not worth it.
    private func beginDiscarding(_ reactor: Reactor) -> Bool {
        discardingSince = reactor.now
        use = .discard(left: Self.discardPatience)
        let length = parser.values("content-length").first.flatMap { Int64($0) } ?? 0
        return length <= Int64(Self.discardPatience)
    }

    /// Asks the judge about the response and prepares for its body.
    func judge(_ reactor: Reactor) { judge(makeHead(), reactor) }

    func judge(_ head: ResponseHead, _ reactor: Reactor) {
        self.head = head
        let verdict = exchange.judge.judge(head)
        self.verdict = verdict
        // A client that is told of the answer may ask what was sent until then.
        measureSending()
        context.observer.transferResponded(head, verdict: verdict)
        switch verdict {
        case .stop(let reason):
            use = .count
            ending = .stopped(reason)
        case .accept(let acceptance):
            // An answer that continues another was already asked about at its beginning.
            guard let hold = exchange.hold, acceptance.offset == .zero, hold.applies(to: head) else {
                return accept(acceptance, of: head, reactor)
            }
            holds.insert(.answer)
            context.observer.transferHeld(head) { [weak reactor] in reactor?.post(.mayGoOn(self, .answer)) }
        }
    }

    private func accept(_ acceptance: Acceptance, of head: ResponseHead, _ reactor: Reactor) {
        self.acceptance = acceptance
        context.counters.setTransferring(true)
        let whole = acceptance.total ?? acceptance.expected.map { acceptance.offset + $0 }
        context.counters.setExpected(whole?.rawValue ?? -1)
        if exchange.kind == .probe {
            use = .count
            ending = .finished
            return
        }
        if exchange.kind == .request {
            if let receiver = context.receiver { return stream(to: receiver, head, reactor) }
            use = .capture
            announceAnswer()
            return
        }
        nextOffset = acceptance.offset.rawValue
        remaining = acceptance.expected?.rawValue
        guard let part else {
            use = .count
            return
        }
        if acceptance.truncate, part.mayHoldBytes {
            holds.insert(.restart)
            let checkpoint = Checkpoint(part, acceptance, offset: acceptance.offset)
            context.observer.transferRestarting(checkpoint) { [weak reactor] in
                reactor?.post(.mayGoOn(self, .restart))
            }
        } else if !part.isOpen, acceptance.offset == .zero, (acceptance.total ?? .zero) <= Self.gatheredLength {
            use = .gather
        } else {
            beginBody(part, acceptance, reactor)
        }
    }

    /// A body up to this length that comes at once needs no part file.
    static let gatheredLength = ByteCount(Int64(BufferPool.smallSize))

    /// The body is too long to be kept in memory, or slow: its bytes must be safe from a crash.
    func moveToFile(_ reactor: Reactor) {
        guard let part, let acceptance else { return }
        beginBody(part, acceptance, reactor)
    }

    private func beginBody(_ part: PartFile, _ acceptance: Acceptance, _ reactor: Reactor) {
        use = .store(reactor.makeSink(self, part, acceptance))
        if reactor.transfers.count >= Crowd.begins { bufferSize = .scrap }
        // The first round comes soon: until then, the bytes after the header stay where they are.
        if reactor.crowd.isCrowded { setLowWater(isCrowded: true) }
        if remaining ?? 0 >= Self.ownBody(among: reactor.transfers.count) { reactor.takeovers.append(self) }
        guard let segment, let head else { return }
        permittedEnd = nextOffset
        segment.bound.begin(at: nextOffset)
        // The first bytes of other segments follow this file's preparation through the same queue.
        segment.accepted(head, acceptance)
    }

    /// The client wants the answer, or the stored checkpoint was replaced and the file may be emptied.
    func begin(after hold: Hold, _ reactor: Reactor) {
        guard case .undecided = use else { return }
        if hold == .answer {
            if case .accept(let acceptance) = verdict, let head { accept(acceptance, of: head, reactor) }
        } else if let part, let acceptance {
            beginBody(part, acceptance, reactor)
        }
    }

    /// The held answer is that of another exchange, whose judge decides about it. The client has decided already.
    func become(_ heir: Transfer, _ reactor: Reactor) {
        (exchange, part, context, report) = (heir.exchange, heir.part, heir.context, heir.report)
        exchange.hold = nil
        if let head { judge(head, reactor) }
    }

    /// The origin whose server has accepted given credentials in this request; nil if there is none.
    private var letsPass: String? {
        guard let known = request.credentials, let status = parser.status, status < 500,
            request.isProvedUnasked || wasChallenged, ![401, 403, 407, 429].contains(status)
        else { return nil }
        return known.answeredFor
    }

    /// A redirect is followed: what has to be known of the request before it.
    func noteHop() {
        if let origin = letsPass { letPass.append(origin) }
        guard isHTTP, !CacheRequest.isSafe(request.effectiveMethod) else { return }
        unsafeHops.append(ExchangeOutcome.Hop(method: request.effectiveMethod, head: makeHead()))
    }

    func makeHead() -> ResponseHead {
        if parser.isComplete {
            var head = ResponseHead(
                url: request.url.text, status: parser.status, httpVersion: parser.httpVersion, reason: parser.reason,
                headers: parser.headers, redirects: request.redirects)
            head.isForeign = request.isForeign
            head.letPass = letPass
            head.kerberosFailure = parser.status == 407 ? tokens?.proxyFailure : tokens?.failure
            if let origin = letsPass { head.letPass.append(origin) }
            return head
        }
        var (length, time): (curl_off_t, curl_off_t) = (-1, -1)
        dld_easy_get_offset(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length)
        dld_easy_get_offset(easy, CURLINFO_FILETIME_T, &time)
        // FTP and SFTP count from the start of the reading.
        let skipped = exchange.kind == .download ? exchange.startOffset.rawValue : 0
        let size = length < 0 ? parser.announcedLength : Int64(length) + skipped
        return ResponseHead(
            url: request.url.text, size: size.map { ByteCount($0) },
            modificationTime: time < 0 ? nil : Int64(time), redirects: request.redirects)
    }

    /// Handles body bytes. Returns how many were taken, or `DLD_WRITE_PAUSE`: the same bytes come again later.
    func body(_ bytes: UnsafeRawPointer, _ count: Int, reactor: Reactor) -> Int {
        if ending != nil { return 0 }
        lastActivity = reactor.now
        // An FTP probe has no body: libcurl's information about the file arrives this way, line by line.
        if exchange.kind == .probe, !parser.isComplete, request.url.scheme != "sftp" { return count }
        if head == nil, discardingSince == nil { judge(reactor) }
        if ending != nil { return 0 }
        switch use {
        case .discard(let left):
            // Too few bytes to wait for, but they count.
            reactor.spend(count, of: limits)
            if exchange.redirects == .ask {
                captured.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: min(left, count)))
            }
            use = .discard(left: left - count)
            return left >= count ? count : 0
        case .count, .capture:
            guard reactor.mayRead(self, count) else { return pause(.rate) }
            charged = 0
            return take(bytes, count)
        case .stream(let receiver):
            guard reactor.mayRead(self, count) else { return pause(.rate) }
            return pass(UnsafeRawBufferPointer(start: bytes, count: count), to: receiver)
        case .undecided:
            return pause(holds.contains(.answer) ? .answer : .restart)
        case .store, .gather:
            return store(bytes, count, reactor)
        }
    }

    /// Handles bytes that go to no file.
    private func take(_ bytes: UnsafeRawPointer, _ count: Int) -> Int {
        if case .capture = use { return capture(bytes, count) }
        received += Int64(count)
        return count
    }

    private func stream(to receiver: any BodyReceiver, _ head: ResponseHead, _ reactor: Reactor) {
        use = .stream(receiver)
        context.counters.setReceived(receiver.offset)
        receiver.begin(head) { [weak reactor, weak self] in
            if let self { reactor?.post(.sinkChanged(self)) }
        }
    }

    /// Gives bytes to the receiver. libcurl repeats bytes that it was told to keep, so those that were already taken
    /// are skipped.
    private func pass(_ bytes: UnsafeRawBufferPointer, to receiver: any BodyReceiver) -> Int {
        let reception = receiver.take(UnsafeRawBufferPointer(rebasing: bytes[passed...]))
        context.counters.setReceived(receiver.offset)
        switch reception {
        case .taken:
            received += Int64(bytes.count - passed)
            passed = 0
            charged = 0
            return bytes.count
        case .held(let count):
            received += Int64(count)
            passed += count
            return pause(.writer)
        case .refused(let error):
            ending = .stopped(.failure(error, retryAfter: nil))
            return 0
        }
    }

    private func pause(_ hold: Hold) -> Int {
        holds.insert(hold)
        isPaused = true
        return DLD_WRITE_PAUSE
    }

    private func store(_ bytes: UnsafeRawPointer, _ count: Int, _ reactor: Reactor) -> Int {
        if !holds.isDisjoint(with: .receiving) { return pause(.receiving.intersection(holds)) }
        guard reactor.mayRead(self, count) else { return pause(.rate) }
        let announced = remaining.map { Int(min($0, Int64(count))) } ?? count
        let wanted = permitted(announced)
        guard hasRoom(for: wanted, reactor), let buffer else { return pause(.writer) }
        if buffer.count == 0 { bufferedSince = reactor.now }
        buffer.append(bytes, wanted)
        kept(wanted, of: announced)
        charged = 0
        if ending != nil { return 0 }
        if wanted < count {
            ending = .overrun
            return 0
        }
        return count
    }

    /// Notes bytes in the buffer: `count` of `announced`; the rest does not belong to the segment.
    func kept(_ count: Int, of announced: Int) {
        nextOffset += Int64(count)
        received += Int64(count)
        remaining = remaining.map { $0 - Int64(count) }
        if lowWater > 1 { setLowWater(isCrowded: true) }
        reactor?.noteFilled(self)
        if endsSegment(count, of: announced) { ending = .finished }
    }

    /// How many of `count` bytes belong to the segment.
    func permitted(_ count: Int) -> Int {
        // A body small enough to stay in memory is not segmented.
        if case .gather = use { return count }
        guard let segment, nextOffset + Int64(count) > permittedEnd else { return count }
        permittedEnd = segment.bound.claim(nextOffset + Int64(count))
        return Int(max(0, min(Int64(count), permittedEnd - nextOffset)))
    }

    /// Whether the segment has ended although its answer has not: `taken` of `announced` bytes belonged to it.
    private func endsSegment(_ taken: Int, of announced: Int) -> Bool {
        guard let segment, case .store = use else { return false }
        if taken < announced { return true }
        return nextOffset >= permittedEnd && remaining != 0 && segment.bound.isOver(at: nextOffset)
    }

    func hasRoom(for count: Int, _ reactor: Reactor) -> Bool {
        if let buffer, buffer.room >= count { return true }
        if case .gather = use {
            let (held, whole) = (buffer?.count ?? 0, Int((acceptance?.total ?? Self.gatheredLength).rawValue))
            // In a crowd, a buffer is only as large as the bytes that have come: many bodies may be slow.
            if held + count <= whole { return gather(reactor.crowd.isCrowded ? held + count : whole, reactor) }
            moveToFile(reactor)
        }
        guard let sink, buffer == nil || sink.admits(at: reactor.now) else { return false }
        if reactor.crowd.isCrowded, !sink.isTurnToRead { return false }
        if let full = buffer { bufferSize = Self.size(of: full).larger }
        let size = max(bufferSize, BufferPool.Size(holding: count))
        guard let fresh = reactor.buffers.acquire(size) else { return false }
        if let full = buffer { sink.submit(full) }
        buffer = fresh
        return true
    }

    /// Moves the gathered bytes to a buffer with room for `count` bytes. Returns false if there is none.
    private func gather(_ count: Int, _ reactor: Reactor) -> Bool {
        guard let larger = reactor.buffers.acquire(BufferPool.Size(holding: count)) else { return false }
        if let held = buffer {
            larger.append(held.bytes, held.count)
            reactor.buffers.release(held)
        }
        buffer = larger
        return true
    }

    /// A body in memory that is not complete after `age` continues in its file.
    func moveToFileIfOld(_ reactor: Reactor, age: Int64) {
        guard case .gather = use, let buffer, buffer.count > 0, reactor.now - bufferedSince >= age else { return }
        moveToFile(reactor)
    }

    /// Hands over a partly filled buffer once its bytes are old enough that they should be safe from a crash.
    func flush(_ sink: PartSink, now: Int64, age: Int64) {
        guard let buffer, buffer.count > 0, now - bufferedSince >= age, sink.admits(at: now) else { return }
        let size = Self.size(of: buffer)
        // In a crowd, bytes wait for the next round, and many buffers wait at the same time.
        if size == .large || reactor?.crowd.isCrowded ?? false, buffer.count < size.smaller.bytes {
            bufferSize = size.smaller
        }
        self.buffer = nil
        sink.submit(buffer)
    }

    private static func size(of buffer: Buffer) -> BufferPool.Size {
        BufferPool.Size(holding: buffer.capacity)
    }
}
