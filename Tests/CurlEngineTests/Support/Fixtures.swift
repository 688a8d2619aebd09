import CLinux
import Foundation
import TestSupport
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

struct TestFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

extension TemporaryFolder {
    func write(_ name: String, _ bytes: [UInt8]) throws { try Files.write(file(name), bytes) }
    func read(_ name: String) throws -> [UInt8] { try Files.read(file(name)) }
}

extension NetworkOptions {
    /// Sets the authorities of this PEM file, as supervision reads them.
    mutating func trust(_ path: String?) { certificates.authorities = path.flatMap { try? Files.read($0) } }
}

/// Bytes that do not repeat nearby, so that a shift or a splice is visible.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var words: [UInt64] = []
    for _ in 0..<(count + 7) / 8 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        words.append(state.littleEndian)
    }
    return words.withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
}

/// The same for many bytes: they repeat only after a prime number of them.
func longPattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    let once = pattern(1_000_003, seed: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count { bytes.append(contentsOf: once.prefix(count - bytes.count)) }
    return bytes
}

/// Judges with a closure.
struct Judge: ResponseJudge {
    var decide: @Sendable (ResponseHead) -> Verdict
    func judge(_ head: ResponseHead) -> Verdict { decide(head) }

    /// Accepts any 2xx (or any answer of a protocol without statuses) from `offset`, with the length that it announces.
    static func taking(offset: Int64 = 0, truncate: Bool = false, total: Int64? = nil) -> Judge {
        Judge { head in
            if let status = head.status, !(200..<300).contains(status) {
                let error = TransferError(.httpStatus, "status \(status)", details: ["status": .integer(Int64(status))])
                return .stop(.failure(error, retryAfter: nil))
            }
            let length = head.values("content-length").first.flatMap { Int64($0) }
            let expected = length ?? head.size.map { $0.rawValue - offset }
            return .accept(
                Acceptance(
                    offset: ByteCount(offset), truncate: truncate, expected: expected.map { ByteCount($0) },
                    total: (total ?? expected.map { $0 + offset }).map { ByteCount($0) },
                    validators: Validators(etag: head.values("etag").first)))
        }
    }
}

/// Remembers everything that it is told.
final class Observer: TransferObserver {
    struct Heard {
        var redirects: [String] = []
        var cookies: [String?] = []
        var heads: [ResponseHead] = []
        var checkpoints: [Checkpoint] = []
        var restarts: [Checkpoint] = []
        var progress: [UploadProgress] = []
        var files: [Checkpoint] = []
        var metrics: [ExchangeMetrics] = []
        var pendingProceed: (@Sendable () -> Void)?
    }
    private let state = Guarded(Heard())
    private let holdsRestarts: Bool
    private let holdsFiles: Bool

    /// Lets a delayed restart or file continue. Returns false if none is delayed.
    func proceed() -> Bool {
        let held = state.withLock { state in
            defer { state.pendingProceed = nil }
            return state.pendingProceed
        }
        held?()
        return held != nil
    }

    /// `holdsRestarts`, `holdsFiles`: the test itself allows a restart to proceed, or a file to get more than a limited
    /// number of bytes.
    init(holdsRestarts: Bool = false, holdsFiles: Bool = false) {
        self.holdsRestarts = holdsRestarts
        self.holdsFiles = holdsFiles
    }

    var heard: Heard { state.withLock { $0 } }

    func transferRedirected(to url: String, status: Int) {
        state.withLock { $0.redirects.append("\(status) \(url)") }
    }
    func transferSends(cookies: String?) { state.withLock { $0.cookies.append(cookies) } }
    func transferSecured(to url: String) { state.withLock { $0.redirects.append("hsts \(url)") } }
    func transferResponded(_ head: ResponseHead, verdict: Verdict) { state.withLock { $0.heads.append(head) } }
    func transferMeasured(_ metrics: ExchangeMetrics) { state.withLock { $0.metrics.append(metrics) } }
    func transferCheckpointed(_ checkpoint: Checkpoint) { state.withLock { $0.checkpoints.append(checkpoint) } }
    func transferReachedFile(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        let holds = state.withLock { state in
            state.files.append(checkpoint)
            if holdsFiles { state.pendingProceed = proceed }
            return holdsFiles
        }
        if !holds { proceed() }
    }
    func transferProgressed(_ progress: UploadProgress) { state.withLock { $0.progress.append(progress) } }
    func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.restarts.append(checkpoint)
            if holdsRestarts { state.pendingProceed = proceed }
        }
        if !holdsRestarts { proceed() }
    }
}

/// Takes a body as far as it is allowed to, down to a few bytes at a time.
final class Receiver: BodyReceiver {
    private struct State {
        var bytes: [UInt8] = []
        var allowed: Int
        var refusal: TransferError?
        var wake: (@Sendable () -> Void)?
    }
    private let state: Guarded<State>

    init(allowed: Int = .max, refusing refusal: TransferError? = nil) {
        state = Guarded(State(allowed: allowed, refusal: refusal))
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var offset: ByteCount { ByteCount(Int64(state.withLock { $0.bytes.count })) }

    func allow(_ count: Int) {
        state.withLock { state in
            state.allowed += count
            return state.wake
        }?()
    }

    func begin(_ head: ResponseHead, wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    func take(_ bytes: UnsafeRawBufferPointer) -> BodyReception {
        state.withLock { state in
            if let refusal = state.refusal { return .refused(refusal) }
            let count = min(bytes.count, state.allowed)
            state.allowed -= count
            state.bytes.append(contentsOf: bytes.prefix(count))
            return count == bytes.count ? .taken : .held(count)
        }
    }
}

/// An engine with its own folder.
struct Bench {
    let folder: TemporaryFolder
    let engine: CurlEngine
    let observer: Observer
    let counters = TransferCounters()
    let task = TaskID(7)
    let session = SessionKey.shared(of: UserID(1000))
    private let hsts: (any HSTSKeeping)?
    private let cookies: (any CookieKeeping)?

    /// - Parameters:
    ///   - home: The folder in which the engine looks for keys. Nil means nowhere.
    ///   - rateClock: The clock of rate limits. Nil means the clock of the machine.
    init(
        holdsRestarts: Bool = false, holdsFiles: Bool = false, home: String? = nil, rateClock: ManualClock? = nil,
        hsts: (any HSTSKeeping)? = nil, cookies: (any CookieKeeping)? = nil
    ) throws {
        self.hsts = hsts
        self.cookies = cookies
        folder = try TemporaryFolder()
        var configuration = CurlEngine.Configuration(
            journalPath: folder.file("journal"), userAgent: "dld-test", homeDirectory: home)
        if let rateClock { configuration.rateClock = { rateClock.now } }
        engine = try CurlEngine(configuration)
        observer = Observer(holdsRestarts: holdsRestarts, holdsFiles: holdsFiles)
    }

    /// The same folder and observer with another engine.
    init(_ bench: Bench, engine: CurlEngine) {
        folder = bench.folder
        observer = bench.observer
        hsts = bench.hsts
        cookies = bench.cookies
        self.engine = engine
    }

    var context: TransferContext {
        TransferContext(
            task: task, session: session, counters: counters, observer: observer, cookies: cookies, hsts: hsts)
    }

    func part(_ name: String = "part") throws -> PartFile { try PartFile.create(path: folder.file(name)) }

    /// A part file that is not created before its bytes must be stored.
    func plannedPart(_ name: String = "part") throws -> PartFile {
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { throw TestFailure("open: errno \(errno)") }
        return PartFile(
            planned: folder.file(name), device: UInt64(status.st_dev), directory: descriptor,
            keeper: OpenFolder(descriptor: descriptor))
    }

    func recover(_ checkpoint: Checkpoint) throws -> (part: PartFile, checkpoint: Checkpoint)? {
        try PartFile.recover(checkpoint, task: task, journal: engine.journal)
    }

    /// Downloads to a new part file.
    func download(
        _ url: String, judge: Judge = .taking(), change: (inout Exchange) -> Void = { _ in }
    ) async throws -> ExchangeOutcome {
        let part = try PartFile.create(path: folder.file("part"), replacing: true)
        return await perform(url, into: part, judge: judge, change: change)
    }

    func perform(
        _ url: String, into part: PartFile?, judge: Judge = .taking(), change: (inout Exchange) -> Void = { _ in }
    ) async -> ExchangeOutcome {
        var exchange = Exchange(url: url, judge: judge)
        exchange.network.proxy = ""
        change(&exchange)
        return await engine.perform(exchange, into: part, context: context)
    }

    /// Performs a request whose answer is captured.
    func request(
        _ method: String, _ url: String, _ payload: Payload = .none, sending source: UploadSource? = nil,
        to receiver: Receiver? = nil, change: (inout Exchange) -> Void = { _ in }
    ) async -> ExchangeOutcome {
        var exchange = Exchange(url: url, judge: CaptureJudge())
        exchange.kind = .request
        exchange.method = method
        exchange.payload = payload
        exchange.network.proxy = ""
        change(&exchange)
        var context = context
        context.receiver = receiver
        return await engine.perform(exchange, into: nil, sending: source, context: context)
    }

    /// Creates a source file with these bytes.
    func source(_ bytes: [UInt8], name: String = "source") throws -> UploadSource {
        try folder.write(name, bytes)
        return try UploadSource.open(path: folder.file(name))
    }
}

/// The descriptor of a folder, which is closed with the object.
private final class OpenFolder: Sendable {
    private let descriptor: Int32
    init(descriptor: Int32) { self.descriptor = descriptor }
    deinit { close(descriptor) }
}

extension PartBoard {
    /// Like the other `finish`, for callers that can wait.
    func finish(syncing: Bool) async {
        await withCheckedContinuation { continuation in finish(syncing: syncing) { continuation.resume() } }
    }
}

/// Waits for a condition that must become true. The limit is generous, because a slow machine proves nothing.
func eventually(_ what: String, _ condition: @Sendable () -> Bool) async throws {
    let limit = ContinuousClock.now + .seconds(30)
    while !condition() {
        guard ContinuousClock.now < limit else { throw TestFailure("never: \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}
