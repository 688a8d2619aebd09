import CurlEngine
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferStore

/// One attempt at one download: opens the part file, performs the exchanges that the strategy names, and verifies and
/// delivers what arrived.
final class DownloadAttempt: TransferAttempt {
    let record: TaskRecord
    let policy: EffectivePolicy
    let run: TransferRun
    let tools: AttemptTools
    let logger: Logger
    /// The exchange of the data task that this run was; its answer becomes the file.
    let continued: RunningExchange?

    /// A complete representation: in the part file, or in memory if it was small and came at once.
    struct Whole: Sendable {
        var arrival: Arrival
        var gathered: [UInt8]?
        /// The digests computed of the part file as it is.
        var digests: [DigestAlgorithm: String]?
        /// The state of the part file when its pieces were checked.
        var stamp: PartStamp?
    }

    init(
        record: TaskRecord, policy: EffectivePolicy, run: TransferRun, tools: AttemptTools, logger: Logger,
        continuing continued: RunningExchange? = nil
    ) {
        self.continued = continued
        self.record = record
        self.policy = policy
        self.run = run
        self.tools = tools
        self.logger = logger
    }

    /// An unsafe request invalidates what is stored (RFC 9111 section 4.4).
    func invalidate(by outcome: ExchangeOutcome, of exchange: Exchange) {
        guard exchange.method != "GET" || !outcome.unsafeHops.isEmpty, let policy = policy.cache,
            let keeper = tools.cache
        else { return }
        TaskCache(keeper, record, policy, self.policy.cookies, of: nil, run, tools.time)
            .invalidate(by: outcome, of: exchange)
    }

    // MARK: Ending

    /// Delivers a small body from memory if nothing else has to be done with it; false if there is more to do.
    func endAtOnce(
        _ download: BegunDownload, _ exchanges: FileExchanges, _ ended: @escaping @Sendable (AttemptEnding) -> Void
    ) -> Bool {
        guard case .success(var arrival?)? = exchanges.steps.conclusion, let bytes = exchanges.course.gathered,
            let (hand, recorder) = download.opened, record.spec.pieces == nil,
            (try? arrival.check(record.spec.size)) != nil
        else { return false }
        if record.spec.mirrors?.isEmpty == false { arrival.mirrors = Self.mirrors(exchanges.course.brought, arrival) }
        let naming = naming(arrival, in: download.place)
        guard naming.forms == [[]] else { return false }
        deliver(gathered: bytes, arrival, naming.name, download.place, recorder) { [self] delivered in
            if case .success(let ending?) = delivered {
                hand.close()
                ended(ending)
            } else {
                run.start { [self] in ended(await end(download, delivered)) }
            }
        }
        return true
    }

    /// - Parameter delivered: the result of a delivery from memory, if one was tried.
    @inline(never)  // Keeps its locals out of suspended frames.
    func end(
        _ download: BegunDownload, _ delivered: Result<AttemptEnding?, any Error>? = nil
    ) async -> AttemptEnding {
        let place = download.place
        return await .of {
            var opened: PartInHand?
            defer { opened?.close() }
            do {
                let (hand, recorder) = try await openedInPlace(download)
                opened = hand
                let ending = try await transfer(download, hand, recorder, delivered)
                if case .aborted = ending { await tools.files.removeIfEmpty(hand.held.part, from: place.folder) }
                return ending
            } catch {
                if let part = opened?.held.part { await tools.files.removeIfEmpty(part, from: place.folder) }
                tools.files.forget(place.folder, for: record)
                throw error
            }
        }
    }

    /// If the destination has changed since the part file was written, the part file is moved first.
    private func openedInPlace(_ download: BegunDownload) async throws -> (PartInHand, RunRecorder) {
        if let opened = download.opened { return opened }
        var moved = record
        moved.checkpoint = try await tools.moves.bring(record, to: download.place)
        return try await open(moved, download.place)
    }

    private func transfer(
        _ download: BegunDownload, _ hand: PartInHand, _ recorder: RunRecorder,
        _ delivered: Result<AttemptEnding?, any Error>?
    ) async throws -> AttemptEnding {
        var (begun, delivered): (BegunDownload?, Result<AttemptEnding?, any Error>?) = (download, delivered)
        do {
            for _ in 0..<Self.mostDamages {
                do {
                    let ending = try await transferred(hand, download.place, recorder, begun, delivered)
                    guard case .aborted = ending, hand.held.part.isDamaged else { return ending }
                } catch  where mayBeginAnew(after: hand.held.part) {
                }
                (begun, delivered) = (nil, nil)
                try await beginAnew(
                    hand, download.place, recorder, because: TransferFiles.damage(of: hand.held.part))
                if run.isAborting { return .aborted }
            }
            throw TransferFiles.damage(of: hand.held.part)
        } catch {
            await recorder.drain()
            throw error
        }
    }

    /// Fetches, verifies and delivers the file once.
    private func transferred(
        _ hand: PartInHand, _ place: PartPlace, _ recorder: RunRecorder, _ begun: BegunDownload?,
        _ delivered: Result<AttemptEnding?, any Error>?
    ) async throws -> AttemptEnding {
        guard var whole = try await arrival(hand, place, recorder, begun: begun) else {
            await recorder.drain()
            return .aborted
        }
        try whole.arrival.check(record.spec.size)
        if let pieces = record.spec.pieces, whole.arrival.contentCoding == nil {
            guard let repaired = try await repaired(whole, pieces, hand, place, recorder) else {
                await recorder.drain()
                return .aborted
            }
            whole = repaired
        }
        do {
            return try await deliver(whole, hand.held, place, recorder, delivered)
        } catch let error as TransferError
            where (error.code == .integrityChecksum || error.isUndecodable) && !whole.arrival.mayBeFetchedAgain
        {
            try await tools.keep(nil, of: record.id)
            throw AttemptFailure(error: error.final, disposition: .permanent)
        }
    }

    /// Runs exchanges with one mirror until its strategy has everything; nil if the run was stopped.
    /// - Parameter begun: exchanges that run already.
    func arrival(
        _ search: OriginSearch, _ hand: PartInHand, _ recorder: RunRecorder, _ begun: FileExchanges?
    ) async throws -> Whole? {
        var running = begun
        if running == nil { running = try await begunExchanges(search, hand, recorder) }
        guard let running else { return nil }
        defer { search.asked(running.course.asked, running.course.brought, hand) }
        let arrived = try await running.steps.value()
        return arrived.map { arrived in
            var arrival = arrived
            arrival.mirrors = Self.mirrors(running.course.brought, arrival, before: hand.brought)
            return Whole(arrival: arrival, gathered: running.course.gathered)
        }
    }

    /// See `Arrival.mirrors`. If the last exchanges brought the whole, what others brought before was dropped.
    private static func mirrors(
        _ brought: [String?: ByteRangeSet], _ arrival: Arrival, before: [String?: ByteRangeSet] = [:]
    ) -> [String] {
        var all = ByteRangeSet()
        for range in brought.values.flatMap(\.ranges) { all.insert(range) }
        let names = all.covers(arrival.total) ? Array(brought.keys) : Array(brought.keys) + before.keys
        return Set(names.compactMap { $0 }).sorted()
    }

    func begunExchanges(
        _ search: OriginSearch, _ hand: PartInHand, _ recorder: RunRecorder
    ) async throws -> FileExchanges {
        let exchanges = try exchanges(search, hand, recorder)
        if exchanges.course.claimsAnew, let checkpoint = hand.held.checkpoint { try await adopt(checkpoint, recorder) }
        exchanges.steps.begin()
        return exchanges
    }

    /// Several exchanges at a time, or one after the other if more are impossible or unwanted.
    func exchanges(
        _ search: OriginSearch, _ hand: PartInHand, _ recorder: RunRecorder
    ) throws(TransferError) -> FileExchanges {
        let inquiry = search.inquiry
        // Most files are complete after the first answer. Segments are prepared only when the answer turns out to be
        // long.
        guard hand.held.checkpoint != nil || search.origins.count > 1 || inquiry.others.fillsGaps else {
            return FileExchanges(try DownloadCourse(self, inquiry, into: hand.held, recorder))
        }
        let machine = try StrategyRegistry.segmented(
            for: inquiry.request, beside: inquiry.others, policy.connections)
        if let machine { return FileExchanges(SegmentConductor(machine, self, hand.held, recorder)) }
        return FileExchanges(try DownloadCourse(self, inquiry, into: hand.held, recorder))
    }

    /// Stores what only the journal knew, before this attempt replaces the journal's claims.
    @inline(never)  // Keeps its locals out of suspended frames.
    private func adopt(_ checkpoint: Checkpoint, _ recorder: RunRecorder) async throws {
        if checkpoint != recorder.knownCheckpoint { try await recorder.replaceCheckpoint(with: checkpoint) }
        tools.engine.journal?.forget(record.id)
    }

    @inline(never)  // Keeps its locals out of suspended frames.
    func restart(
        _ part: PartFile, because cause: TransferError, keeping begun: UploadProgress?, _ recorder: RunRecorder
    ) async throws {
        try await tools.files.truncate(part)
        run.restarted()
        let record = record
        let now = tools.time.reading().wall
        logger.info(
            "begins again from 0",
            metadata: ["task": "\(record.id)", "code": "\(cause.code.rawValue)", "error": "\(cause.message)"])
        try await recorder.replaceCheckpoint(with: nil) { transaction in
            try transaction.setUpload(record.id, begun)
            _ = try transaction.append(.restarted(record, because: cause, at: now))
        }
    }
}
