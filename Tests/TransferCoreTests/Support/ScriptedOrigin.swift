import TransferModel

@testable import TransferCore

/// Plays the server and the engine for a strategy. Performs exchanges on a file in memory, with faults on demand.
struct ScriptedOrigin {
    enum Fault: Hashable {
        /// The connection breaks after this many bytes of the body.
        case cut(after: Int)
        /// The body ends early, and the transport does not notice it.
        case shortBody(Int)
        case refused
        case aborted(after: Int)
    }

    var content: [UInt8]
    /// The version of the content. The entity tag and the modification time follow from it.
    var version = 1
    /// The faults of the next downloads, in order. Afterwards the server behaves correctly.
    var faults: [Fault] = []
    private(set) var exchanges: [Exchange] = []
    private(set) var bytesSent = 0

    init(_ content: [UInt8]) { self.content = content }

    var modificationTime: Int64 { 1_700_000_000 + Int64(version) * 1000 }
    var etag: String { "\"v\(version)\"" }

    mutating func perform(_ exchange: Exchange, into part: inout [UInt8]) -> ExchangeOutcome {
        exchanges.append(exchange)
        if exchange.kind == .probe { return ExchangeOutcome(end: .finished, head: statHead(exchange)) }
        let fault = faults.isEmpty ? nil : faults.removeFirst()
        if fault == .refused {
            return ExchangeOutcome(end: .transport(code: 7, message: "refused"), offset: exchange.startOffset)
        }
        let (head, body) =
            switch exchange.url.prefix(4) {
            case "http": httpAnswer(exchange)
            case "help": helperAnswer(exchange)
            default: (statHead(exchange), tail(from: exchange.startOffset))
            }
        switch exchange.judge.judge(head) {
        case .stop(let reason):
            return ExchangeOutcome(end: .stopped(reason), head: head, offset: exchange.startOffset)
        case .accept(let acceptance):
            return send(body, head, acceptance, fault, into: &part)
        }
    }

    private mutating func send(
        _ body: ArraySlice<UInt8>, _ head: ResponseHead, _ acceptance: Acceptance, _ fault: Fault?,
        into part: inout [UInt8]
    ) -> ExchangeOutcome {
        if acceptance.truncate { part = [] }
        part.removeLast(max(0, part.count - Int(acceptance.offset.rawValue)))
        var (length, end) = (body.count, ExchangeOutcome.End.finished)
        switch fault {
        case .cut(let count): (length, end) = (min(count, body.count), .transport(code: 56, message: "reset"))
        case .aborted(let count): (length, end) = (min(count, body.count), .aborted)
        case .shortBody(let count): length = min(count, body.count)
        case .refused, nil: break
        }
        part += body.prefix(length)
        bytesSent += length
        return ExchangeOutcome(
            end: end, head: head, offset: acceptance.offset + ByteCount(Int64(length)),
            received: ByteCount(Int64(length)))
    }

    private func tail(from offset: ByteCount) -> ArraySlice<UInt8> {
        content.dropFirst(Int(offset.rawValue))
    }

    private func statHead(_ exchange: Exchange) -> ResponseHead {
        ResponseHead(
            url: exchange.url, size: ByteCount(Int64(content.count)),
            modificationTime: exchange.url.hasPrefix("data:") ? nil : modificationTime)
    }

    private func helperAnswer(_ exchange: Exchange) -> (ResponseHead, ArraySlice<UInt8>) {
        let order = HelperOrder(exchange)
        let validator = "v\(version)"
        let offset = order.validator ?? validator == validator ? order.offset : 0
        let response = HelperResponse(offset: offset, length: Int64(content.count), validator: validator)
        return (order.head(of: response), content.dropFirst(Int(offset)))
    }

    private func httpAnswer(_ exchange: Exchange) -> (ResponseHead, ArraySlice<UInt8>) {
        let first = exchange.header("range").flatMap { Int($0.dropFirst(6).dropLast()) }
        let matches = exchange.header("if-range").map { $0 == etag } ?? true
        let fields = [HeaderField("ETag", etag), HeaderField("Last-Modified", HTTPDate.format(modificationTime))]
        guard let first, matches, first < content.count else {
            let length = HeaderField("Content-Length", "\(content.count)")
            return (ResponseHead(url: exchange.url, status: 200, headers: fields + [length]), content[...])
        }
        let range = HeaderField("Content-Range", "bytes \(first)-\(content.count - 1)/\(content.count)")
        return (ResponseHead(url: exchange.url, status: 206, headers: fields + [range]), content.dropFirst(first))
    }
}

/// What an attempt left, as the daemon would store it.
struct ScriptedAttempt {
    enum Ending {
        case finished(Arrival)
        case failed(AttemptFailure)
        case aborted
    }

    var ending: Ending
    var checkpoint: Checkpoint?
    var restarts: [TransferError] = []

    var arrival: Arrival? { if case .finished(let arrival) = ending { arrival } else { nil } }
    var failure: AttemptFailure? { if case .failed(let failure) = ending { failure } else { nil } }

    /// Steps the strategy of `url` until it ends, with at most 20 exchanges.
    static func run(
        _ url: String, _ origin: inout ScriptedOrigin, part: inout [UInt8], checkpoint held: Checkpoint? = nil
    ) throws -> ScriptedAttempt {
        var strategy = try StrategyRegistry.download(for: request(url, checkpoint: held))
        var step = strategy.next(after: nil)
        var attempt = ScriptedAttempt(ending: .aborted, checkpoint: held)
        for _ in 0..<20 {
            switch step {
            case .finished(let arrival):
                attempt.ending = .finished(arrival)
                return attempt
            case .failed(let failure):
                attempt.ending = .failed(failure)
                return attempt
            case .restart(let error, then: let exchange):
                attempt.restarts.append(error)
                attempt.checkpoint = nil
                part = []
                step = .run(exchange)
            case .run(let exchange):
                let outcome = origin.perform(exchange, into: &part)
                attempt.note(exchange, outcome)
                if outcome.end == .aborted { return attempt }
                step = strategy.next(after: outcome)
            case .store:
                // A step of uploads. A download that gets here ends without an arrival.
                return attempt
            }
        }
        return attempt
    }

    /// Notes the engine's checkpoint at the end of an exchange.
    private mutating func note(_ exchange: Exchange, _ outcome: ExchangeOutcome) {
        guard exchange.kind == .download, let head = outcome.head,
            case .accept(let accepted) = exchange.judge.judge(head)
        else { return }
        checkpoint = Checkpoint(
            offset: outcome.offset, total: accepted.total, validators: accepted.validators,
            contentCoding: accepted.contentCoding, partPath: "/tmp/part", device: 1, inode: 2,
            serverDigests: accepted.serverDigests)
    }
}
