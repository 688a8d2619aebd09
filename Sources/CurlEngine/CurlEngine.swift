import CCurl
import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// Performs exchanges with one thread for the network and one writer per file system; makes no decision of its own.
package final class CurlEngine: Sendable {
    package struct Configuration: Sendable {
        /// Path of the offset journal's file; its folder exists.
        package var journalPath: String
        /// Exchanges that may run at once without losing connection reuse or journal slots.
        package var maximumTransfers: Int
        package var userAgent: String
        /// Bytes of memory that bodies may take before they reach their files.
        package var bufferBound: ByteCount
        /// The folder of `.ssh` with keys and known hosts; nil = `HOME`.
        package var homeDirectory: String?
        package var trace: EngineTrace?
        /// Runs the helpers for schemes that libcurl does not support; nil if there are none.
        package var helpers: (any HelperServing)?
        /// Makes tokens for servers and proxies that ask for Negotiate; nil if Kerberos is not used.
        package var kerberos: Kerberos?
        /// The clock of rate limits: nanoseconds of a monotonic clock.
        package var rateClock: @Sendable () -> Int64

        package init(
            journalPath: String, maximumTransfers: Int = 256, userAgent: String = "dld",
            bufferBound: ByteCount = .mebibytes(96), homeDirectory: String? = nil, trace: EngineTrace? = nil,
            helpers: (any HelperServing)? = nil, kerberos: Kerberos? = nil,
            rateClock: @escaping @Sendable () -> Int64 = { dld_monotonic_nanoseconds() }
        ) {
            self.homeDirectory = homeDirectory
            self.trace = trace
            self.helpers = helpers
            self.kerberos = kerberos
            self.rateClock = rateClock
            self.journalPath = journalPath
            self.maximumTransfers = maximumTransfers
            self.userAgent = userAgent
            self.bufferBound = bufferBound
        }
    }

    /// nil if the state folder has no room for it; downloads then resume from checkpoints.
    package var journal: OffsetJournal? { files.journal }
    let reactor: Reactor
    package var answers: AnswerCounts { reactor.answers }
    private let files: FileSide
    private let homeDirectory: String?
    /// Short calls that may block: looking for keys, and waiting for disks at the end.
    private let errands: WorkQueue<@Sendable () -> Void>

    /// - Throws: internal if the system provides no descriptors or threads.
    package init(_ configuration: Configuration) throws(TransferError) {
        guard Self.initialized == CURLE_OK else {
            throw TransferError(.internal, "libcurl cannot be initialized.")
        }
        let slots = max(2048, configuration.maximumTransfers)
        files = FileSide(
            journal: try? OffsetJournal(path: configuration.journalPath, slots: slots),
            bufferBound: configuration.bufferBound)
        homeDirectory = configuration.homeDirectory
        errands = WorkQueue(name: "dld-errand", threads: 4) { $0() }
        let reactor = Reactor(
            maximumTransfers: configuration.maximumTransfers, userAgent: configuration.userAgent, files: files,
            trace: configuration.trace, helpers: configuration.helpers,
            kerberos: configuration.kerberos, rateClock: configuration.rateClock)
        guard let reactor, reactor.start() else {
            throw TransferError(.internal, "The network thread cannot start: descriptors or threads are used up.")
        }
        files.buffers.onFreed { [weak reactor] in reactor?.post(.buffersFreed) }
        self.reactor = reactor
    }

    deinit { reactor.post(.stop {}) }

    /// Milliseconds that a shutdown waits for the disks.
    private static let patience = 1500
    private static let initialized = dld_curl_global_init()

    /// The libcurl that is loaded.
    package static func versionInfo() -> (version: String, protocols: [String]) {
        (CurlVersion.current.text, CurlVersion.current.protocols)
    }

    /// What the exchanges share that fetch segments of one file.
    /// - Parameter checkpoint: the held ranges of the part file.
    package func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> PartBoard {
        files.board(for: part, checkpoint, context: context)
    }

    package func start(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, as segment: Segment?,
        context: TransferContext, then report: @escaping @Sendable (ExchangeOutcome) -> Void
    ) -> RunningExchange {
        // The other segments of the file are already transferring.
        if segment == nil { context.counters.setTransferring(false) }
        if !URLRules.usesNetwork(exchange.url) { return copy(exchange, part, context, report) }
        switch request(exchange, context.hsts) {
        case .success(let request):
            if request.insecureURL != nil { context.observer.transferSecured(to: request.url.text) }
            if !request.url.isHTTP, let call = call(exchange, part, source, request, context) {
                guard exchange.$network.wrappedValue.interface == nil else {
                    report(
                        ExchangeOutcome(
                            .stopped(.failure(.unboundHelper(call.scheme), retryAfter: nil)), before: exchange))
                    return RunningExchange {}
                }
                let transfer = Transfer(
                    exchange: exchange, part: part, context: context, request: request, talk: HelperTalk(call),
                    report: report)
                reactor.post(.start(transfer))
                return RunningExchange(transfer, on: reactor)
            }
            let transfer = Transfer(
                exchange: exchange, part: part, context: context, request: request, source: source,
                feed: files.feed(exchange, source: source), segment: segment, report: report)
            request.url.scheme == "sftp" ? startWithKeys(transfer) : reactor.post(.start(transfer))
            return RunningExchange(transfer, on: reactor)
        case .failure(let refusal):
            report(refusal.outcome)
            return RunningExchange {}
        }
    }

    /// Why an exchange never reaches the network.
    private struct Refusal: Error {
        var outcome: ExchangeOutcome
    }

    private func request(_ exchange: Exchange, _ hsts: (any HSTSKeeping)?) -> Result<RequestState, Refusal> {
        guard let url = CurlURL(exchange.url) ?? CurlURL(ofHelper: exchange.url) else {
            let code = Int(CURLE_URL_MALFORMAT.rawValue)
            return .failure(
                Refusal(
                    outcome: ExchangeOutcome(
                        end: .transport(code: code, message: "the URL is malformed"), offset: exchange.startOffset)))
        }
        do throws(TransferError) {
            return .success(try RequestState(exchange, url: url, hsts))
        } catch {
            return .failure(
                Refusal(outcome: ExchangeOutcome(end: .refusedRedirect(error), offset: exchange.startOffset)))
        }
    }

    /// What a helper is asked; nil if libcurl knows the scheme.
    private func call(
        _ exchange: Exchange, _ part: PartFile?, _ source: UploadSource?, _ request: RequestState,
        _ context: TransferContext
    ) -> HelperCall? {
        let scheme = request.url.scheme
        guard !URLScheme.known.contains(where: { $0.rawValue == scheme }), URLScheme.isName(scheme) else { return nil }
        return HelperCall(
            scheme: scheme, owner: context.session.owner, task: context.task,
            patience: exchange.$network.wrappedValue.stallTimeout > 0
                ? exchange.$network.wrappedValue.stallTimeout.milliseconds : .max,
            order: HelperOrder(exchange),
            part: exchange.kind == .download ? part : nil, payload: exchange.payload, source: source)
    }

    private func copy(
        _ exchange: Exchange, _ part: PartFile?, _ context: TransferContext,
        _ report: @escaping @Sendable (ExchangeOutcome) -> Void
    ) -> RunningExchange {
        let local = LocalExchange(exchange: exchange, part: part, context: context, files: files, report: report)
        local.start()
        return RunningExchange { local.cancel() }
    }

    /// Looking for keys reads files, which may block.
    private func startWithKeys(_ transfer: Transfer) {
        let (reactor, home) = (reactor, homeDirectory)
        errands.post {
            transfer.keys = SSHKeys.find(
                knownHosts: transfer.exchange.network.knownHostsPath,
                home: home ?? getenv("HOME").map { String(cString: $0) })
            reactor.post(.start(transfer))
        }
    }

    func errand<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            errands.post { continuation.resume(returning: body()) }
        }
    }

    // MARK: Life

    package func renewConnections() { reactor.post(.renewConnections) }

    /// Whether the network thread answers within `limit`; a watchdog asks this.
    package func isResponsive(within limit: Duration) async -> Bool {
        let answered = Guarded<CheckedContinuation<Bool, Never>?>(nil)
        let answer: @Sendable (Bool) -> Void = { value in
            let waiting = answered.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            waiting?.resume(returning: value)
        }
        return await withCheckedContinuation { continuation in
            answered.withLock { $0 = continuation }
            reactor.post(.ping { answer(true) })
            Task {
                try? await Task.sleep(for: limit)
                answer(false)
            }
        }
    }

    // MARK: The end

    /// Ends every exchange with `.aborted` after a checkpoint, then the threads. Later exchanges are aborted at once.
    package func shutdown() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            reactor.post(.stop { continuation.resume() })
        }
        let ledger = files.ledger
        await errand { ledger.drain(milliseconds: Self.patience) }
        files.devices.close()
        errands.close()
    }
}

// MARK: - Rates

/// Rate limits. All take effect on running transfers at once; 0 removes a limit.
extension CurlEngine {
    package func setRateLimits(global rate: ByteRate) { reactor.post(.globalRate(rate, .receiving)) }
    package func setRateLimit(session: SessionKey, _ rate: ByteRate) {
        reactor.post(.sessionRate(session, rate, .receiving))
    }
    /// Stays until it is set to 0, across the task's exchanges.
    package func setRateLimit(task: TaskID, _ rate: ByteRate) { reactor.post(.taskRate(task, rate, .receiving)) }

    package func setUploadRateLimits(global rate: ByteRate) { reactor.post(.globalRate(rate, .sending)) }
    package func setUploadRateLimit(session: SessionKey, _ rate: ByteRate) {
        reactor.post(.sessionRate(session, rate, .sending))
    }
    /// Stays until it is set to 0, across the task's exchanges.
    package func setUploadRateLimit(task: TaskID, _ rate: ByteRate) { reactor.post(.taskRate(task, rate, .sending)) }
}
