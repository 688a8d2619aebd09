import Synchronization
import TransferCore
import TransferModel

/// Whose exchange this is, and who watches it.
package struct TransferContext: Sendable {
    package var task: TaskID
    package var session: SessionKey
    package var counters: TransferCounters
    package var observer: any TransferObserver
    /// Takes the body of a `request` as it comes, in place of memory; nil if the answer is kept.
    package var receiver: (any BodyReceiver)?
    /// nil if servers set none and requests carry none.
    package var cookies: (any CookieKeeping)?

    package init(
        task: TaskID, session: SessionKey, counters: TransferCounters, observer: any TransferObserver,
        receiver: (any BodyReceiver)? = nil, cookies: (any CookieKeeping)? = nil
    ) {
        self.task = task
        self.session = session
        self.counters = counters
        self.observer = observer
        self.receiver = receiver
        self.cookies = cookies
    }
}

/// Live figures of a running task; any thread reads them at any time.
package final class TransferCounters: Sendable {
    private let received = Atomic<Int64>(0)
    private let expected = Atomic<Int64>(-1)
    private let sent = Atomic<Int64>(0)
    private let toSend = Atomic<Int64>(-1)
    private let headArrived = Atomic<Bool>(false)

    package init() {}

    /// Next offset in the part file: everything before it is written.
    package var bytesReceived: ByteCount { ByteCount(received.load(ordering: .relaxed)) }
    /// Whole length of the file, -1 if unknown.
    package var bytesExpected: Int64 { expected.load(ordering: .relaxed) }
    /// Uploads: next offset in the source, or bytes of a body that is more than the file (multipart). What the peer's
    /// system has not acknowledged does not count while the exchange runs.
    package var bytesSent: ByteCount { ByteCount(sent.load(ordering: .relaxed)) }
    /// Uploads: where `bytesSent` ends, -1 if unknown.
    package var bytesToSend: Int64 { toSend.load(ordering: .relaxed) }
    package var phase: TaskPhase { headArrived.load(ordering: .relaxed) ? .transferring : .connecting }

    package func setReceived(_ offset: ByteCount) { received.store(offset.rawValue, ordering: .relaxed) }
    package func setExpected(_ length: Int64) { expected.store(length, ordering: .relaxed) }
    package func setSent(_ offset: ByteCount) { sent.store(offset.rawValue, ordering: .relaxed) }
    package func setToSend(_ length: Int64) { toSend.store(length, ordering: .relaxed) }
    package func setTransferring(_ value: Bool) { headArrived.store(value, ordering: .relaxed) }
}

/// Takes the body of an answer as it comes. Calls come from the engine's thread; they must not block.
package protocol BodyReceiver: AnyObject, Sendable {
    /// Bytes of the body that were taken, content codings undone, in all exchanges.
    var offset: ByteCount { get }
    /// The answer was accepted, and its body follows.
    /// - Parameter wake: to be called, from any thread, once more can be taken after a `.held`.
    func begin(_ head: ResponseHead, wake: @escaping @Sendable () -> Void)
    func take(_ bytes: UnsafeRawBufferPointer) -> BodyReception
}

/// What became of bytes that a `BodyReceiver` was given.
package enum BodyReception {
    case taken
    /// Only so many of the first were taken. The transfer reads no further until it is woken, and gives the others again.
    case held(Int)
    /// The body cannot be used.
    case refused(TransferError)
}

/// Hears what happens to an exchange. Calls come from the reactor and from writer threads, in order; they must not block.
package protocol TransferObserver: Sendable {
    /// A redirect is being followed; `url` is without user info.
    func transferRedirected(to url: String, status: Int)
    func transferResponded(_ head: ResponseHead, verdict: Verdict)
    /// The part file is open and takes bytes from the checkpoint's offset on; not called for a body that is gathered.
    /// Until `proceed` is called, from any thread, at most 1 MiB is written: a file that no store speaks of would be
    /// lost with the daemon.
    func transferReachedFile(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void)
    /// The exchange has lasted for a second and goes on; called again now and then.
    func transferLingers()
    /// Bytes before the checkpoint's offset are synced: soon after the first bytes, every 1 s or 64 MiB while bytes
    /// reach the file, and at the end of the exchange.
    func transferCheckpointed(_ checkpoint: Checkpoint)
    /// The part file is about to be emptied for another version, so the stored checkpoint must be replaced by this
    /// one first: `proceed` is called, from any thread, when that is durable. No byte is written before.
    func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void)
    /// The head is of an answer that the exchange holds (`Exchange.hold`): no byte of its body is taken before `proceed` is
    /// called, from any thread. That the connection is lost meanwhile may show only then.
    func transferHeld(_ head: ResponseHead, proceed: @escaping @Sendable () -> Void)
    /// An interim answer told what is worth storing at once (the upload resource of a 104).
    func transferProgressed(_ progress: UploadProgress)
    /// A request and its answer are over, of which the exchange may have several: redirects, repetitions, challenges.
    func transferMeasured(_ metrics: ExchangeMetrics)
}

extension TransferObserver {
    package func transferProgressed(_ progress: UploadProgress) {}
    package func transferMeasured(_ metrics: ExchangeMetrics) {}
    package func transferHeld(_ head: ResponseHead, proceed: @escaping @Sendable () -> Void) { proceed() }
    package func transferReachedFile(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) { proceed() }

    /// For those who keep nothing back until then.
    package func transferReachedFile(_ checkpoint: Checkpoint) { transferReachedFile(checkpoint) {} }
    package func transferLingers() {}

    package func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        transferCheckpointed(checkpoint)
        proceed()
    }
}
