import TransferModel

@testable import TransferCore

/// Plays server and engine for a `SegmentedDownload`. Its exchanges advance in parallel, a few bytes at a time, and
/// write to a file in memory. A test can set the answer to each request.
struct ScriptedParts {
    enum Answer: Hashable {
        case right
        /// The connection breaks after this many bytes of the body.
        case cut(after: Int)
        /// A part that is shorter than requested.
        case short(Int)
        case refused
        case status(Int, retryAfter: String?)
        /// The entire file, whatever was requested, of the version with this tag.
        case whole(etag: String)
        /// The requested part, of the version with this tag.
        case other(etag: String)
        /// The entire file if the request has If-Range, otherwise the part.
        case wholeToIfRange
        case wrongStart
        case wrongTotal
        case unsatisfied
        case stalled(after: Int)
        case aborted(after: Int)
        case diskFull
    }

    private struct Running {
        var url = ""
        var head: ResponseHead?
        var acceptance: Acceptance?
        var body: ArraySlice<UInt8>
        var offset: Int64
        var received = 0
        var end: ExchangeOutcome.End
    }

    /// The version for each tag.
    let versions: [String: [UInt8]]
    var etag = "\"v1\""
    /// The tag for each URL that has another version.
    var etags: [String: String] = [:]
    /// Fields in every answer of a URL.
    var fields: [String: [HeaderField]] = [:]
    /// More mirrors of the download.
    var others: OtherMirrors?
    /// The most bytes in one step of a URL's exchange. This makes a mirror slow.
    var pace: [String: Int64] = [:]
    private var now: Int64 = 0
    /// Selects the answer from the number of the request (from 0) and its first byte. Nil means the right answer.
    var answer: (Int, Exchange) -> Answer? = { _, _ in nil }
    /// The number of connections that the server serves at the same time, and the answer to all others.
    var capacity: (count: Int, refusal: Answer)?
    var acceptRanges: String? = "bytes"
    private(set) var exchanges: [Exchange] = []
    private(set) var bytesSent = 0
    /// Bytes of bodies by URL.
    private(set) var sent: [String: Int] = [:]
    private(set) var peak = 0
    private(set) var overwritten = ByteCount.zero
    private var file: [UInt8] = []
    private var written = ByteRangeSet()
    private var running: [SegmentID: Running] = [:]
    private let ends = SimulatedEnds()
    private var generator: SeededGenerator

    init(_ versions: [String: [UInt8]], seed: UInt64 = 1) {
        self.versions = versions
        generator = SeededGenerator(state: seed)
    }

    var content: [UInt8] { versions[etag] ?? [] }
    /// The file if it has no gaps.
    var holdsExactly: [UInt8]? { written.covers(ByteCount(Int64(file.count))) ? file : nil }

    // MARK: An attempt

    struct Attempt {
        var arrival: Arrival?
        var failure: AttemptFailure?
        var restarts: [TransferError] = []
        var checkpoint: Checkpoint?
        var wasAborted = false
    }

    mutating func attempt(
        _ policy: ConnectionPolicy, checkpoint: Checkpoint? = nil, change: (inout TaskSpec) -> Void = { _ in }
    ) throws -> Attempt {
        let request = request(checkpoint: checkpoint, change: change)
        guard var machine = try StrategyRegistry.segmented(for: request, beside: others, policy) else {
            return Attempt()
        }
        var attempt = Attempt(checkpoint: checkpoint)
        var acceptance: Acceptance?
        var step = perform(machine.begin(at: 0, ends), &machine)
        var time: Int64 = 0
        now = 0
        while true {
            if let concluded = step {
                switch concluded {
                case .finished(let arrival): attempt.arrival = arrival
                case .failed(let failure): attempt.failure = failure
                case .restart(let error, then: let exchange):
                    attempt.restarts.append(error)
                    empty()
                    attempt.checkpoint = nil
                    acceptance = nil
                    step = perform(machine.lead(exchange, at: time), &machine)
                    continue
                case .run, .store: break
                }
                if attempt.checkpoint == nil || acceptance != nil {
                    attempt.checkpoint = held(acceptance)
                }
                return attempt
            }
            time += 100
            now = time
            guard let id = running.keys.sorted().randomElement(using: &generator) else { return attempt }
            if case .aborted = running[id]?.end, running[id]?.body.isEmpty == true { attempt.wasAborted = true }
            if let accepted = running[id]?.acceptance, accepted.total != nil { acceptance = accepted }
            step = advance(id, &machine, at: time)
            if step == nil, time % 1000 == 0 { step = perform(machine.sampled(spare: 4, at: time, ends), &machine) }
        }
    }

    /// Returns what the store would have of the file.
    private func held(_ acceptance: Acceptance?) -> Checkpoint? {
        guard let acceptance else { return nil }
        return Checkpoint(
            offset: written.prefix, total: acceptance.total, validators: acceptance.validators, partPath: "/tmp/part",
            device: 1, inode: 2, ranges: written.beyond)
    }

    private mutating func perform(
        _ effects: [SegmentedDownload.Effect], _ machine: inout SegmentedDownload
    ) -> Step<Arrival>? {
        var conclusion: Step<Arrival>?
        for effect in effects {
            switch effect {
            case .conclude(let step): conclusion = step
            case .abort(let id):
                running[id]?.body = []
                running[id]?.end = .aborted
            case .run(let id, let exchange, let range):
                ends.segments[id] = .init(position: range.start.rawValue, end: range.end.rawValue)
                if let step = begin(id, exchange, &machine) { conclusion = step }
            }
        }
        return conclusion
    }

    // MARK: Exchanges

    private mutating func begin(
        _ id: SegmentID, _ exchange: Exchange, _ machine: inout SegmentedDownload
    ) -> Step<Arrival>? {
        var order = answer(exchanges.count, exchange) ?? .right
        if let capacity, running.values.count(where: { $0.acceptance != nil }) >= capacity.count {
            order = capacity.refusal
        }
        exchanges.append(exchange)
        let start = exchange.startOffset.rawValue
        var state = Running(url: exchange.url, body: [], offset: start, end: .finished)
        defer {
            running[id] = running[id] ?? state
            peak = max(peak, running.count)
        }
        if order == .refused {
            state.end = .transport(code: 7, message: "refused")
            return nil
        }
        let (head, body) = reply(order, exchange)
        state.head = head
        switch exchange.judge.judge(head) {
        case .stop(let reason):
            state.end = .stopped(reason)
            return nil
        case .accept(let acceptance):
            if acceptance.truncate { empty() }
            state.acceptance = acceptance
            state.offset = acceptance.offset.rawValue
            state.body = body.prefix(Int(acceptance.expected?.rawValue ?? Int64(body.count)))
            switch order {
            case .cut(let count):
                if count < state.body.count { state.end = .transport(code: 56, message: "reset") }
                state.body = state.body.prefix(count)
            case .stalled(let count): (state.body, state.end) = (state.body.prefix(count), .stalled)
            case .aborted(let count): (state.body, state.end) = (state.body.prefix(count), .aborted)
            case .diskFull: (state.body, state.end) = ([], .local(errno: 28, operation: "pwrite"))
            case .right, .short, .refused, .status, .whole, .other, .wholeToIfRange, .wrongStart, .wrongTotal,
                .unsatisfied:
                break
            }
            running[id] = state
            ends.segments[id]?.position = state.offset
            return perform(machine.accepted(id, head, acceptance, at: now, ends), &machine)
        }
    }

    private func reply(_ order: Answer, _ exchange: Exchange) -> (ResponseHead, ArraySlice<UInt8>) {
        let own = etags[exchange.url] ?? etag
        var (tag, bytes) = (own, versions[own] ?? [])
        var isWhole = exchange.header("range") == nil
        let condition = exchange.header("if-range")
        switch order {
        case .whole(let other): (tag, isWhole) = (other, true)
        case .other(let other): tag = other
        case .wholeToIfRange: isWhole = isWhole || condition != nil
        case .status(let status, let retryAfter):
            let fields = retryAfter.map { [HeaderField("Retry-After", $0)] } ?? []
            return (ResponseHead(url: exchange.url, status: status, headers: fields), [])
        case .unsatisfied:
            let field = HeaderField("Content-Range", "bytes */\(bytes.count)")
            return (ResponseHead(url: exchange.url, status: 416, headers: [field]), [])
        case .right, .cut, .short, .refused, .wrongStart, .wrongTotal, .stalled, .aborted, .diskFull:
            isWhole = isWhole || condition.map { $0 != own } ?? false
        }
        bytes = versions[tag] ?? []
        var fields = [HeaderField("ETag", tag)] + (self.fields[exchange.url] ?? [])
        if let acceptRanges { fields.append(HeaderField("Accept-Ranges", acceptRanges)) }
        guard !isWhole, let range = Self.range(exchange, of: bytes.count) else {
            fields.append(HeaderField("Content-Length", "\(bytes.count)"))
            return (ResponseHead(url: exchange.url, status: 200, headers: fields), bytes[...])
        }
        var (first, last, total) = (range.lowerBound, range.upperBound - 1, bytes.count)
        if case .short(let count) = order { last = min(last, first + count - 1) }
        if order == .wrongStart { first = min(first + 1, last) }
        if order == .wrongTotal { total += 1 }
        fields.append(HeaderField("Content-Range", "bytes \(first)-\(last)/\(total)"))
        return (ResponseHead(url: exchange.url, status: 206, headers: fields), bytes[first...last])
    }

    static func range(_ exchange: Exchange, of count: Int) -> Range<Int>? {
        guard let text = exchange.header("range")?.dropFirst(6) else { return nil }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard let first = ends.first.flatMap({ Int($0) }), first < count else { return nil }
        let last = min(Int(ends[1]) ?? count - 1, count - 1)
        return last < first ? nil : first..<last + 1
    }

    /// Advances one exchange by some bytes, or to its end.
    private mutating func advance(_ id: SegmentID, _ machine: inout SegmentedDownload, at time: Int64) -> Step<Arrival>?
    {
        guard var state = running[id] else { return nil }
        let room = (ends.segments[id]?.end ?? .max) - state.offset
        let count = min(
            min(pace[state.url] ?? .max, Int64(Int.random(in: 1...600_000, using: &generator))),
            Int64(state.body.count), max(0, room))
        if count > 0 {
            sent[state.url, default: 0] += Int(count)
            write(state.body.prefix(Int(count)), at: Int(state.offset))
            state.body = state.body.dropFirst(Int(count))
            state.offset += count
            state.received += Int(count)
            ends.segments[id]?.position = state.offset
        }
        let isAtEnd = state.offset >= (ends.segments[id]?.end ?? .max)
        guard state.body.isEmpty || isAtEnd else {
            running[id] = state
            return nil
        }
        running[id] = nil
        ends.segments[id]?.isClosed = true
        let end: ExchangeOutcome.End =
            isAtEnd && state.acceptance != nil && state.end != .aborted ? .finished : state.end
        ends.segments[id] = nil
        let outcome = ExchangeOutcome(
            end: end, head: state.head, offset: ByteCount(state.offset), received: ByteCount(Int64(state.received)))
        return perform(machine.ended(id, outcome, at: time, ends), &machine)
    }

    private mutating func write(_ bytes: ArraySlice<UInt8>, at offset: Int) {
        bytesSent += bytes.count
        let end = offset + bytes.count
        if file.count < end { file += [UInt8](repeating: 0, count: end - file.count) }
        file.replaceSubrange(offset..<end, with: bytes)
        let before = written.count
        written.insert(ByteRange(ByteCount(Int64(offset)), ByteCount(Int64(end))))
        overwritten += before + ByteCount(Int64(bytes.count)) - written.count
    }

    private mutating func empty() {
        file = []
        written = ByteRangeSet()
    }
}
