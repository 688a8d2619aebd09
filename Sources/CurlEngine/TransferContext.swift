import Synchronization
import TransferCore
import TransferModel

/// Which task an exchange belongs to, and who watches it.
package struct TransferContext: Sendable {
    package var task: TaskID
    package var session: SessionKey
    package var counters: TransferCounters
    package var observer: any TransferObserver
    /// Receives the body of a `request` as it arrives, instead of memory; nil if the answer is kept.
    package var receiver: (any BodyReceiver)?
    /// nil if servers may set none and requests carry none.
    package var cookies: (any CookieKeeping)?
    /// nil if HSTS is ignored: no host is known, and none is learned.
    package var hsts: (any HSTSKeeping)?
    /// Holds an answer, which becomes that of this exchange once, instead of a new request. Its own end is not reported
    /// then.
    package var continues: RunningExchange?

    package init(
        task: TaskID, session: SessionKey, counters: TransferCounters, observer: any TransferObserver,
        receiver: (any BodyReceiver)? = nil, cookies: (any CookieKeeping)? = nil,
        hsts: (any HSTSKeeping)? = nil
    ) {
        self.task = task
        self.session = session
        self.counters = counters
        self.observer = observer
        self.receiver = receiver
        self.cookies = cookies
        self.hsts = hsts
    }
}

/// Live figures of a running task; any thread reads them at any time.
package final class TransferCounters: Sendable {
    private let received = Atomic<Int64>(0)
    private let expected = Atomic<Int64>(-1)
    private let sent = Atomic<Int64>(0)
    private let toSend = Atomic<Int64>(-1)
    private let headArrived = Atomic<Bool>(false)
    private let behindAnother = Atomic<Bool>(false)

    package init() {}

    /// Next offset in the part file: everything before it is written.
    package var bytesReceived: ByteCount { ByteCount(received.load(ordering: .relaxed)) }
    /// Length of the whole file, -1 if unknown.
    package var bytesExpected: Int64 { expected.load(ordering: .relaxed) }
    /// Uploads: next offset in the source, or bytes of a body that is more than the file (multipart). While the
    /// exchange runs, bytes that the peer's system has not acknowledged do not count.
    package var bytesSent: ByteCount { ByteCount(sent.load(ordering: .relaxed)) }
    /// Uploads: the final value of `bytesSent`, -1 if unknown.
    package var bytesToSend: Int64 { toSend.load(ordering: .relaxed) }
    package var phase: TaskPhase { headArrived.load(ordering: .relaxed) ? .transferring : .connecting }

    /// The output of the task's helper waits for another task, which takes no bytes.
    package var waitsForAnother: Bool { behindAnother.load(ordering: .relaxed) }

    package func setReceived(_ offset: ByteCount) { received.store(offset.rawValue, ordering: .relaxed) }
    package func setExpected(_ length: Int64) { expected.store(length, ordering: .relaxed) }
    package func setSent(_ offset: ByteCount) { sent.store(offset.rawValue, ordering: .relaxed) }
    package func setToSend(_ length: Int64) { toSend.store(length, ordering: .relaxed) }
    package func setWaitsForAnother(_ value: Bool) { behindAnother.store(value, ordering: .relaxed) }
    package func setTransferring(_ value: Bool) { headArrived.store(value, ordering: .relaxed) }
}

/// Receives the body of an answer as it arrives. Calls come from the engine's thread; they must not block.
package protocol BodyReceiver: AnyObject, Sendable {
    /// Bytes of the body that were taken, decoded, in all exchanges.
    var offset: ByteCount { get }
    /// The answer was accepted, and its body follows.
    /// - Parameter wake: must be called, from any thread, once more can be taken after a `.held`.
    func begin(_ head: ResponseHead, wake: @escaping @Sendable () -> Void)
    func take(_ bytes: UnsafeRawBufferPointer) -> BodyReception
}

/// What happened to bytes that a `BodyReceiver` was given.
package enum BodyReception {
    case taken
    /// Only this many of the first bytes were taken. The transfer reads no further until it is woken, and gives the
    /// others again.
    case held(Int)
    /// The body cannot be used.
    case refused(TransferError)
}

/// Learns what happens to an exchange. Calls come in order, from the reactor, from writer and sync threads, and from
/// the threads of local copies; they must not block.
package protocol TransferObserver: Sendable {
    /// A redirect is being followed; `url` has no user info.
    func transferRedirected(to url: String, status: Int)
    /// A URL of http is requested over https, because its host asked for this (RFC 6797 section 8.3). `url` has no user
    /// info. This call may come before all others, on the thread that starts the exchange.
    func transferSecured(to url: String)
    /// The request for the exchange's own URL, and no redirect's, is about to be sent with these stored cookies, in the
    /// form of the Cookie field; nil for none. Called again if it is repeated.
    func transferSends(cookies: String?)
    func transferResponded(_ head: ResponseHead, verdict: Verdict)
    /// The part file is open and receives bytes from the checkpoint's offset on; not called for a body that stays in
    /// memory. Until `proceed` is called, from any thread, at most `CheckpointPace.mostLost` is written: a file
    /// that the store does not know would be lost with the daemon.
    func transferReachedFile(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void)
    /// The exchange has lasted for a second and continues; called again now and then.
    func transferLingers()
    /// Bytes before the checkpoint's offset are synced: called soon after the first bytes, every 1 s or 64 MiB while
    /// bytes reach the file, and at the end of the exchange.
    func transferCheckpointed(_ checkpoint: Checkpoint)
    /// The part file is about to be emptied for another version, so the stored checkpoint must first be replaced by
    /// this one: `proceed` is called, from any thread, when that is durable. No byte is written before.
    func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void)
    /// The header belongs to an answer that the exchange holds (`Exchange.hold`): no byte of its body is taken before
    /// `proceed` is called, from any thread. If the connection is lost in the meantime, that may show only then.
    func transferHeld(_ head: ResponseHead, proceed: @escaping @Sendable () -> Void)
    /// An interim answer told something that must be stored at once (the upload resource of a 104).
    func transferProgressed(_ progress: UploadProgress)
    /// One request and its answer are over; an exchange may have several: redirects, repetitions, challenges.
    func transferMeasured(_ metrics: ExchangeMetrics)
}

extension TransferObserver {
    package func transferSecured(to url: String) {}
    package func transferSends(cookies: String?) {}
    package func transferProgressed(_ progress: UploadProgress) {}
    package func transferMeasured(_ metrics: ExchangeMetrics) {}
    package func transferHeld(_ head: ResponseHead, proceed: @escaping @Sendable () -> Void) { proceed() }
    package func transferReachedFile(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) { proceed() }

    /// For code that holds nothing back until then.
    package func transferReachedFile(_ checkpoint: Checkpoint) { transferReachedFile(checkpoint) {} }
    package func transferLingers() {}

    package func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        transferCheckpointed(checkpoint)
        proceed()
    }
}
