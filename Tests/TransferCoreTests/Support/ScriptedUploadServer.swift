import TransferModel

@testable import TransferCore

/// Plays the server of an upload protocol and the engine for a strategy. Keeps the bytes that arrive, with faults on
/// demand.
struct ScriptedUploadServer {
    enum Dialect: Hashable {
        case plain, tus, resumable, contentRange, s3, file
    }

    enum Fault: Hashable {
        /// The connection breaks after this many bytes of the body have arrived.
        case cut(after: Int)
        /// The server acts on the request, but its answer never arrives.
        case lostAnswer
        case refused
        case aborted(after: Int)
        /// The daemon is killed after this many bytes of the body have arrived.
        case killed(after: Int)
        case status(Int)
        /// The upload resource disappears before the request is read.
        case gone
        /// The server loses this many bytes after it accepted them.
        case forgets(Int)
    }

    let dialect: Dialect
    /// The faults of the next exchanges, in order. Nil means no fault.
    var faults: [Fault?] = []
    /// The most bytes in one append, sent as Upload-Limit.
    var longestAppend: Int?
    private(set) var resources: [String: [UInt8]] = [:]
    private(set) var parts: [Int: [UInt8]] = [:]
    private(set) var created = 0
    /// How often the target acted on a complete request.
    private(set) var completions = 0
    private(set) var content: [UInt8]?
    private(set) var exchanges: [Exchange] = []
    private(set) var bytesArrived = 0
    private(set) var wasKilled = false

    init(_ dialect: Dialect) { self.dialect = dialect }

    mutating func perform(_ exchange: Exchange, source: [UInt8]) -> ExchangeOutcome {
        exchanges.append(exchange)
        wasKilled = false
        let fault = faults.isEmpty ? nil : faults.removeFirst()
        let body = Self.bytes(exchange.payload, source)
        switch fault {
        case nil: return answer(exchange, body)
        case .refused: return broken(7, sent: 0)
        case .status(let status): return outcome(head(status, exchange), sent: body.count)
        case .lostAnswer:
            _ = answer(exchange, body)
            return broken(52, sent: body.count)
        case .cut(let count):
            take(part: count, of: body, exchange)
            return broken(56, sent: min(count, body.count))
        case .aborted(let count):
            take(part: count, of: body, exchange)
            var ended = broken(42, sent: min(count, body.count))
            ended.end = .aborted
            return ended
        case .killed(let count):
            wasKilled = true
            take(part: count, of: body, exchange)
            return broken(42, sent: min(count, body.count))
        case .gone:
            resources = [:]
            return answer(exchange, body)
        case .forgets(let count):
            let answered = answer(exchange, body)
            for (name, held) in resources { resources[name] = Array(held.dropLast(min(count, held.count))) }
            if case .file = dialect { content = content.map { Array($0.dropLast(min(count, $0.count))) } }
            return answered
        }
    }

    static func bytes(_ payload: Payload, _ source: [UInt8]) -> [UInt8] {
        func range(_ offset: ByteCount, _ length: ByteCount) -> ArraySlice<UInt8> {
            source.dropFirst(Int(offset.rawValue)).prefix(Int(length.rawValue))
        }
        switch payload {
        case .none: return []
        case .bytes(let bytes): return bytes
        case .source(let offset, let length): return Array(range(offset, length))
        case .framed(let head, let offset, let length, let tail): return head + range(offset, length) + tail
        }
    }

    // MARK: Answers

    private func head(_ status: Int, _ exchange: Exchange, _ fields: [HeaderField] = []) -> ResponseHead {
        ResponseHead(url: exchange.url, status: status, headers: fields)
    }

    private func outcome(_ head: ResponseHead, sent: Int, body: [UInt8] = []) -> ExchangeOutcome {
        var outcome = ExchangeOutcome(end: .finished, head: head)
        outcome.sent = ByteCount(Int64(sent))
        outcome.body = body
        return outcome
    }

    private func broken(_ code: Int, sent: Int) -> ExchangeOutcome {
        var outcome = ExchangeOutcome(end: .transport(code: code, message: "broken"))
        outcome.sent = ByteCount(Int64(sent))
        return outcome
    }

    /// The connection broke in the middle of the body. Keeps the bytes that a server would keep.
    private mutating func take(part count: Int, of body: [UInt8], _ exchange: Exchange) {
        let arrived = Array(body.prefix(count))
        guard !arrived.isEmpty else { return }
        bytesArrived += arrived.count
        switch dialect {
        case .tus, .resumable: if exchange.method == "PATCH" { resources[exchange.url, default: []] += arrived }
        case .contentRange: if exchange.method == "PUT" { resources[exchange.url, default: []] += arrived }
        case .file: store(arrived, at: exchange)
        case .plain, .s3: break
        }
    }

    private mutating func answer(_ exchange: Exchange, _ body: [UInt8]) -> ExchangeOutcome {
        bytesArrived += body.count
        switch dialect {
        case .plain:
            completions += 1
            content = body
            return outcome(head(201, exchange), sent: body.count, body: Array("stored".utf8))
        case .tus: return tus(exchange, body)
        case .resumable: return resumable(exchange, body)
        case .contentRange: return contentRange(exchange, body)
        case .s3: return s3(exchange, body)
        case .file: return file(exchange, body)
        }
    }

    private mutating func create(_ exchange: Exchange, _ fields: [HeaderField] = []) -> ExchangeOutcome {
        created += 1
        let name = "https://example.org/uploads/\(created)"
        resources[name] = []
        return outcome(head(201, exchange, fields + [HeaderField("Location", "/uploads/\(created)")]), sent: 0)
    }

    private mutating func tus(_ exchange: Exchange, _ body: [UInt8]) -> ExchangeOutcome {
        if exchange.method == "OPTIONS" {
            let fields = [
                HeaderField("Tus-Version", "1.0.0"), HeaderField("Tus-Extension", "creation,checksum"),
                HeaderField("Tus-Checksum-Algorithm", "sha1,sha256"),
            ]
            return outcome(head(204, exchange, fields), sent: 0)
        }
        guard exchange.header("Tus-Resumable") == "1.0.0" else { return outcome(head(412, exchange), sent: 0) }
        if exchange.method == "POST" { return create(exchange) }
        guard var held = resources[exchange.url] else { return outcome(head(404, exchange), sent: body.count) }
        if exchange.method == "PATCH" {
            guard exchange.header("Upload-Offset") == "\(held.count)" else {
                return outcome(head(409, exchange), sent: body.count)
            }
            held += body
            resources[exchange.url] = held
            content = held
        }
        let offset = HeaderField("Upload-Offset", "\(held.count)")
        return outcome(head(exchange.method == "HEAD" ? 200 : 204, exchange, [offset]), sent: body.count)
    }

    private mutating func resumable(_ exchange: Exchange, _ body: [UInt8]) -> ExchangeOutcome {
        let version = exchange.header("Upload-Draft-Interop-Version").flatMap { Int($0) } ?? 0
        let fields = ResumableFields(version: version)
        let limit = longestAppend.map { [HeaderField("Upload-Limit", "max-append-size=\($0)")] } ?? []
        if exchange.method == "POST" { return create(exchange, limit) }
        guard var held = resources[exchange.url] else { return outcome(head(404, exchange), sent: body.count) }
        let isLast =
            exchange.header(version == 3 ? "Upload-Incomplete" : "Upload-Complete") == (version == 3 ? "?0" : "?1")
        if exchange.method == "PATCH" {
            guard exchange.header("Upload-Offset") == "\(held.count)" else {
                let offset = HeaderField("Upload-Offset", "\(held.count)")
                return outcome(head(409, exchange, [offset]), sent: body.count)
            }
            held += body
            resources[exchange.url] = held
            if isLast {
                completions += 1
                content = held
            }
        }
        let isComplete = content != nil && content == held
        let answer = limit + [HeaderField("Upload-Offset", "\(held.count)"), fields.complete(isComplete)]
        return outcome(head(isLast ? 200 : 204, exchange, answer), sent: body.count)
    }

    private mutating func contentRange(_ exchange: Exchange, _ body: [UInt8]) -> ExchangeOutcome {
        if exchange.method == "POST" { return create(exchange) }
        guard var held = resources[exchange.url] else { return outcome(head(404, exchange), sent: body.count) }
        let range = exchange.header("Content-Range") ?? ""
        let total = range.split(separator: "/").last.flatMap { Int($0) } ?? -1
        if case .range(let first, _, _) = ContentRange(range) {
            guard first.rawValue == held.count else { return outcome(head(503, exchange), sent: body.count) }
            held += body
            resources[exchange.url] = held
        }
        guard held.count < total else {
            content = held
            return outcome(head(200, exchange), sent: body.count, body: Array("{}".utf8))
        }
        let fields = held.isEmpty ? [] : [HeaderField("Range", "bytes=0-\(held.count - 1)")]
        return outcome(head(308, exchange, fields), sent: body.count)
    }

    private mutating func s3(_ exchange: Exchange, _ body: [UInt8]) -> ExchangeOutcome {
        if exchange.method == "PUT" {
            guard let part = exchange.url.split(separator: "=").last.flatMap({ Int($0) }) else {
                return outcome(head(400, exchange), sent: 0)
            }
            parts[part] = body
            return outcome(head(200, exchange, [HeaderField("ETag", "\"part\(part)\"")]), sent: body.count)
        }
        completions += 1
        content = parts.sorted { $0.key < $1.key }.flatMap(\.value)
        let named = parts.keys.allSatisfy { String(decoding: body, as: UTF8.self).contains("&quot;part\($0)&quot;") }
        guard named else { return outcome(head(400, exchange), sent: body.count) }
        let answer = "<?xml version=\"1.0\"?><CompleteMultipartUploadResult/>"
        return outcome(head(200, exchange), sent: body.count, body: Array(answer.utf8))
    }

    private mutating func file(_ exchange: Exchange, _ body: [UInt8]) -> ExchangeOutcome {
        if exchange.kind == .probe {
            guard let content else {
                var missing = broken(78, sent: 0)
                missing.head = nil
                return missing
            }
            let found = ResponseHead(
                url: exchange.url, size: ByteCount(Int64(content.count)), modificationTime: Int64(exchanges.count))
            return outcome(found, sent: 0)
        }
        store(body, at: exchange)
        return outcome(ResponseHead(url: exchange.url), sent: body.count)
    }

    private mutating func store(_ bytes: [UInt8], at exchange: Exchange) {
        content = Array((content ?? []).prefix(Int(exchange.startOffset.rawValue))) + bytes
    }

    /// Creates a file at the destination of the upload, as if someone had stored it before.
    mutating func place(_ bytes: [UInt8]) { content = bytes }
}

/// What an attempt of an upload left, as the daemon would store it.
struct ScriptedUpload {
    var result: UploadResult?
    var failure: AttemptFailure?
    /// The stored progress after the attempt.
    var stored: UploadProgress?
    var restarts: [TransferError] = []
    /// Whether bytes of the source were sent before the location of the upload was durable.
    var sentBeforeStored = false

    /// Steps the strategy until it ends, with at most 60 exchanges.
    static func run(
        _ request: StrategyRequest, _ server: inout ScriptedUploadServer, source: [UInt8],
        stored: UploadProgress? = nil
    ) throws -> ScriptedUpload {
        var request = request
        request.upload = stored
        var strategy = try StrategyRegistry.upload(for: request)
        var attempt = ScriptedUpload(stored: stored)
        var step = strategy.next(after: nil)
        for _ in 0..<60 {
            let exchange: Exchange
            switch step {
            case .failed(let failure):
                attempt.failure = failure
                attempt.stored = strategy.upload
                return attempt
            case .finished(let result):
                attempt.result = result
                attempt.stored = strategy.upload
                return attempt
            case .restart(let error, then: let next):
                attempt.restarts.append(error)
                attempt.stored = nil
                exchange = next
            case .store(let progress, then: let next):
                attempt.stored = progress
                exchange = next
            case .run(let next): exchange = next
            }
            if exchange.payload.sourceLength > 0, attempt.stored == nil { attempt.sentBeforeStored = true }
            let outcome = server.perform(exchange, source: source)
            if server.wasKilled { return attempt }
            step = strategy.next(after: outcome)
            if outcome.end == .aborted {
                attempt.stored = strategy.upload
                return attempt
            }
        }
        return attempt
    }
}
