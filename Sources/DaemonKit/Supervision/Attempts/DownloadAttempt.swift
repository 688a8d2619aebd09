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
    let recorder: RunRecorder
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
        record: TaskRecord, policy: EffectivePolicy, run: TransferRun, tools: AttemptTools,
        continuing continued: RunningExchange? = nil
    ) {
        self.continued = continued
        self.record = record
        self.policy = policy
        self.run = run
        self.tools = tools
        recorder = RunRecorder(
            record: record, run: run, keepsAnswers: true, patience: tools.patience, keeper: tools.checkpoints,
            time: tools.time, logger: tools.logger, asking: tools.asking(of: record, run, policy))
    }

    private var folderChoice: FolderChoice? { FolderChoice(record, policy, recorder, tools) }

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
            let hand = download.hand, record.spec.pieces == nil, folderChoice == nil,
            (try? arrival.check(record.spec.size)) != nil
        else { return false }
        if record.spec.mirrors?.isEmpty == false { arrival.mirrors = Self.mirrors(exchanges.course.brought, arrival) }
        let naming = naming(arrival, in: download.place)
        guard naming.forms == [[]] else { return false }
        deliver(gathered: bytes, arrival, naming.name, download.place) { [self] delivered in
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
    func end(_ download: BegunDownload, _ delivered: Result<AttemptEnding?, any Error>? = nil) async -> AttemptEnding {
        let place = download.place
        return await .of {
            var opened: PartInHand?
            defer { opened?.close() }
            do {
                let hand = try await openedInPlace(download)
                opened = hand
                let ending = try await transfer(download, hand, delivered)
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
    private func openedInPlace(_ download: BegunDownload) async throws -> PartInHand {
        if let hand = download.hand { return hand }
        var moved = record
        moved.checkpoint = try await tools.moves.bring(record, to: download.place)
        recorder.moved(to: moved.checkpoint)
        return try await open(moved, download.place)
    }

    private func transfer(
        _ download: BegunDownload, _ hand: PartInHand, _ delivered: Result<AttemptEnding?, any Error>?
    ) async throws -> AttemptEnding {
        var (begun, delivered): (BegunDownload?, Result<AttemptEnding?, any Error>?) = (download, delivered)
        var place = download.place
        do {
            for _ in 0..<Self.mostDamages {
                do {
                    let ending = try await transferred(hand, &place, begun, delivered)
                    guard case .aborted = ending, hand.held.part.isDamaged else { return ending }
                } catch  where mayBeginAnew(after: hand.held.part) {
                }
                (begun, delivered) = (nil, nil)
                try await beginAnew(hand, place, because: TransferFiles.damage(of: hand.held.part))
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
        _ hand: PartInHand, _ place: inout PartPlace, _ begun: BegunDownload?,
        _ delivered: Result<AttemptEnding?, any Error>?
    ) async throws -> AttemptEnding {
        guard var whole = try await arrival(hand, place, begun: begun) else {
            await recorder.drain()
            return .aborted
        }
        try whole.arrival.check(record.spec.size)
        try await folderChoice?.apply(to: whole, named: naming(whole.arrival, in: place).name, hand, &place)
        if let pieces = record.spec.pieces, whole.arrival.contentCoding == nil {
            guard let repaired = try await repaired(whole, pieces, hand, place) else {
                await recorder.drain()
                return .aborted
            }
            whole = repaired
        }
        do {
            return try await deliver(whole, hand.held, place, delivered)
        } catch let error as TransferError
            where (error.code == .integrityChecksum || error.isUndecodable) && !whole.arrival.mayBeFetchedAgain
        {
            try await tools.keep(nil, of: record.id)
            throw AttemptFailure(error: error.final, disposition: .permanent)
        }
    }

    /// Runs exchanges with one mirror until its strategy has everything; nil if the run was stopped.
    /// - Parameter begun: exchanges that run already.
    func arrival(_ search: MirrorSearch, _ hand: PartInHand, _ begun: FileExchanges?) async throws -> Whole? {
        var running = begun
        if running == nil { running = try await begunExchanges(search, hand) }
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

    func begunExchanges(_ search: MirrorSearch, _ hand: PartInHand) async throws -> FileExchanges {
        let exchanges = try exchanges(search, hand)
        if exchanges.course.claimsAnew, let checkpoint = hand.held.checkpoint { try await adopt(checkpoint) }
        exchanges.steps.begin()
        return exchanges
    }

    /// Several exchanges at a time, or one after the other if more are impossible or unwanted.
    func exchanges(_ search: MirrorSearch, _ hand: PartInHand) throws(TransferError) -> FileExchanges {
        let inquiry = search.inquiry
        // Most files are complete after the first answer. Segments are prepared only when the answer turns out to be
        // long.
        guard hand.held.checkpoint != nil || search.mirrors.count > 1 || inquiry.others.fillsGaps else {
            return paired(try DownloadCourse(self, inquiry, into: hand.held))
        }
        let machine = try StrategyRegistry.segmented(
            for: inquiry.request, beside: inquiry.others, policy.connections)
        if let machine { return paired(SegmentConductor(machine, self, hand.held)) }
        return paired(try DownloadCourse(self, inquiry, into: hand.held))
    }

    private func paired(_ course: some FileCourse) -> FileExchanges { (course, StepInterpreter(course)) }

    /// Stores what only the journal knew, before this attempt replaces the journal's claims.
    @inline(never)  // Keeps its locals out of suspended frames.
    private func adopt(_ checkpoint: Checkpoint) async throws {
        if checkpoint != recorder.knownCheckpoint { try await recorder.replaceCheckpoint(with: checkpoint) }
        tools.engine.journal?.forget(record.id)
    }

    @inline(never)  // Keeps its locals out of suspended frames.
    func restart(_ part: PartFile, because cause: TransferError, keeping begun: UploadProgress?) async throws {
        try await tools.files.truncate(part)
        try await recorder.replaceCheckpoint(
            with: nil, also: tools.restarted(record, run, because: cause, keeping: begun))
    }
}

// MARK: - Proof

/// Verifies what was written before the file gets its name, because other programs of the user may change the part
/// file.
extension DownloadAttempt {
    /// How often one attempt fetches the file before it gives up because somebody keeps damaging the part file.
    static let mostDamages = 4
    /// How often a file is hashed if it changes meanwhile.
    private static let mostLooks = 3

    /// The user's checksum. It applies to the decoded file, and is trusted most.
    var own: [DigestAlgorithm: String] { record.spec.checksum.map { [$0.algorithm: $0.value] } ?? [:] }

    /// A digest of the file, or of the body as received, was compared.
    func isVerified(_ arrival: Arrival) -> Bool {
        !own.isEmpty || !arrival.serverDigests.isEmpty
            || record.spec.pieces != nil && arrival.contentCoding == nil
    }

    /// Verifies a part file against the user's digest or else the server's. Without a digest, it checks the length and
    /// that there is no hole.
    /// - Returns: every digest that was computed.
    /// - Throws: `integrity.checksum`; a part file that somebody has changed is marked as damaged.
    func proven(
        _ whole: Whole, _ part: PartFile, isCoded: Bool, in folder: Folder
    ) async throws -> [DigestAlgorithm: String] {
        let others = own.isEmpty ? whole.arrival.serverDigests : [:]
        if let stamp = whole.stamp, others.isEmpty {
            // The pieces were just verified.
            let now = try await tools.files.look(at: part, of: whole.arrival.total, in: folder)
            guard now == stamp else { throw TransferFiles.damage(noted: part) }
            return whole.digests ?? [:]
        }
        let expected = own.isEmpty ? whole.arrival.serverDigests : isCoded ? [:] : own
        return try await proven(part, whole.arrival.total, expected, in: folder)
    }

    /// The same for a file of `total` bytes that the daemon wrote.
    func proven(
        _ part: PartFile, _ total: ByteCount, _ expected: [DigestAlgorithm: String], in folder: Folder
    ) async throws -> [DigestAlgorithm: String] {
        // Without a digest, only the file system knows about a hole.
        var stamp = try await tools.files.look(
            at: part, of: total, in: folder, findingHoles: expected.isEmpty && !mayHaveHoles)
        guard !expected.isEmpty else { return [:] }
        run.set(phase: .verifying)
        for _ in 0..<Self.mostLooks {
            let digests = try await verified(part, total, expected, in: folder)
            let now = try await tools.files.look(at: part, of: total, in: folder)
            if now == stamp { return digests }
            stamp = now
        }
        throw TransferFiles.damage(noted: part)
    }

    private func verified(
        _ part: PartFile, _ total: ByteCount, _ expected: [DigestAlgorithm: String], in folder: Folder
    ) async throws -> [DigestAlgorithm: String] {
        do {
            return try await tools.files.verify(part, expected: expected)
        } catch let error as TransferError where error.code == .integrityChecksum {
            // A hole explains the mismatch; then no mirror is at fault.
            _ = try await tools.files.look(at: part, of: total, in: folder, findingHoles: !mayHaveHoles)
            throw error
        }
    }

    /// The kernel copies a local file as it is, including holes.
    private var mayHaveHoles: Bool { TransferFiles.mayHaveHoles(record) }

    // MARK: Starting over

    /// Tells whether the file may be fetched again because somebody damaged its part file.
    func mayBeginAnew(after part: PartFile) -> Bool {
        part.isDamaged && !run.isCommitting && RepeatRules.mayFetchAgain(record.spec)
    }

    /// Replaces the part file, which somebody else may still have open, by a new one.
    @inline(never)  // Keeps its locals out of suspended frames.
    func beginAnew(_ hand: PartInHand, _ place: PartPlace, because cause: TransferError) async throws {
        tools.engine.journal?.forget(record.id)
        try await restart(hand.held.part, because: cause, keeping: nil)
        var now = record
        now.checkpoint = nil
        hand.replace(with: try await tools.files.openPart(of: now, place.plan, in: place.folder, engine: tools.engine))
        run.holds(.zero, of: nil)
        run.set(phase: nil)
    }
}

// MARK: - Beginning

/// Does everything that needs no answer from the server, and starts the first exchanges.
extension DownloadAttempt {
    func begin(_ beginnings: Turnstiles, ended: @escaping @Sendable (AttemptEnding) -> Void) {
        let plan: DestinationPlan
        do {
            plan = try DestinationPlan(record.spec.destination)
        } catch {
            return run.start { ended(AttemptEnding(of: error)) }
        }
        if let begun = beginAtOnce(plan) { return wait(for: begun, ended) }
        let turnstile = beginnings[record.destinationDevice]
        turnstile.enter { [self] in
            run.start { [self] in
                let begun = await beginLater(plan)
                turnstile.leave()
                switch begun {
                case .success(let begun): wait(for: begun, ended)
                case .failure(let ending): ended(ending)
                }
            }
        }
    }

    /// Starts the first exchange at once if nothing must be waited for: the task is new, its folder is open, and none
    /// of its files can exist yet.
    private func beginAtOnce(_ plan: DestinationPlan) -> BegunDownload? {
        guard record.status.attempts <= 1, record.checkpoint == nil,
            let folder = tools.files.openFolder(plan, for: record),
            tools.files.hasSpace(in: folder, leaving: tools.minimumFreeSpace(), at: tools.time.reading().boot),
            let pinned = tools.files.pinnedAtOnce(
                policy.$network, policy.url(of: record.$spec), owner: record.session.owner)
        else { return nil }
        let place = PartPlace(plan: plan, folder: folder)
        let hand = PartInHand(tools.files.plannedPart(of: record, plan, in: folder))
        let search = search(hand, nil, pinned)
        let exchanges = try? exchanges(search, hand)
        exchanges?.steps.begin()
        return BegunDownload(place: place, hand: hand, search: search, exchanges: exchanges)
    }

    private func beginLater(_ plan: DestinationPlan) async -> Result<BegunDownload, AttemptEnding> {
        do {
            let folder = try await tools.files.open(plan, for: record)
            do {
                return .success(try await begin(PartPlace(plan: plan, folder: folder)))
            } catch {
                if !(error is AttemptEnding) { tools.files.forget(folder, for: record) }
                throw error
            }
        } catch {
            return .failure(AttemptEnding(of: error))
        }
    }

    /// - Throws: the ending, if the file was delivered already; then no exchange begins.
    private func begin(_ place: PartPlace) async throws -> BegunDownload {
        if let delivered = try await tools.files.alreadyDelivered(place.plan, place.folder, record, policy) {
            // The coded body, if the file was decoded.
            await tools.files.removeUseless(of: record, place.plan, in: place.folder)
            throw try await tools.complete(record, of: run, with: delivered)
        }
        try await tools.files.requireSpace(
            in: place.folder, leaving: tools.minimumFreeSpace(), at: tools.time.reading().boot)
        // Copying the part file may take long, so other attempts may begin meanwhile.
        guard tools.moves.isInPlace(record, place) else {
            return BegunDownload(place: place, hand: nil, search: nil, exchanges: nil)
        }
        let hand = try await open(record, place)
        // An error here occurs again in `end`, which knows what follows from it.
        let search = try? await search(hand)
        var exchanges: FileExchanges?
        if let search { exchanges = try? await begunExchanges(search, hand) }
        return BegunDownload(place: place, hand: hand, search: search, exchanges: exchanges)
    }

    func open(_ record: TaskRecord, _ place: PartPlace) async throws -> PartInHand {
        let hand = PartInHand(
            try await tools.files.openPart(of: record, place.plan, in: place.folder, engine: tools.engine))
        if let checkpoint = hand.held.checkpoint { run.holds(checkpoint.held, of: checkpoint.total) }
        if case .answered(_, _?) = policy.redirects, hand.held.part.isOpen {
            try await beginAnew(hand, place, because: Self.replacedByRedirect)
        }
        return hand
    }

    private static let replacedByRedirect = TransferError(
        .validatorChanged, "The redirect that was refused is the answer. The bytes that were held are dropped.")

    /// Ends the attempt when its first exchanges are over. Until then, the run has no Swift task.
    private func wait(for download: BegunDownload, _ ended: @escaping @Sendable (AttemptEnding) -> Void) {
        guard let exchanges = download.exchanges else {
            return run.start { [self] in ended(await end(download)) }
        }
        run.wait(for: exchanges.steps) { [self] in
            if !endAtOnce(download, exchanges, ended) { run.start { [self] in ended(await end(download)) } }
        }
    }
}

// MARK: - Pieces

/// Finds the wrong pieces of a complete file, and fetches only those again.
extension DownloadAttempt {
    /// Returns the file with correct pieces; nil if the run was stopped.
    /// - Throws: `integrity.checksum` if pieces stay wrong, or if the file has another length.
    func repaired(
        _ arrived: Whole, _ pieces: PieceDigests, _ hand: PartInHand, _ place: PartPlace
    ) async throws -> Whole? {
        var whole = arrived
        var repair: PieceRepair?
        while true {
            if let bytes = whole.gathered {
                try await tools.files.write(bytes, to: hand.held.part)
                whole.gathered = nil
            }
            run.set(phase: .verifying)
            let map = try PieceMap(pieces, of: whole.arrival.total)
            let part = hand.held.part
            whole.stamp = try? await tools.files.look(at: part, of: whole.arrival.total, in: place.folder)
            if part.isDamaged { throw TransferFiles.damage(of: part) }
            let (wrong, mismatch) = try await wrongPieces(&whole, pieces, map, part)
            // The digest of the whole file contradicts the digests of its pieces.
            if wrong.isEmpty, let mismatch { throw mismatch }
            if wrong.isEmpty { return whole }
            let places = mirrors(hand.held.checkpoint, whole.arrival.head.map { ($0.headers, $0.url) })
            var next = repair ?? PieceRepair(map, pieces.algorithm, places: places.places.map(\.name))
            let again = try await fetched(wrong, of: places, &next, whole, hand, place)
            guard let again else { return nil }
            whole = again
            repair = next
        }
    }

    /// Fetches the wrong pieces again, all from one mirror, and returns the file; nil if the run was stopped.
    private func fetched(
        _ wrong: [Int], of mirrors: Mirrors, _ repair: inout PieceRepair, _ whole: Whole, _ hand: PartInHand,
        _ place: PartPlace
    ) async throws -> Whole? {
        var decision = repair.next(wrong: wrong, brought: hand.brought)
        while true {
            switch decision {
            case .giveUp(let failure): throw failure
            case .refetch(let kept, let name):
                try await drop(repair.error(wrong), keeping: kept, whole, hand, place)
                run.set(phase: nil)
                guard let mirror = mirrors.places.first(where: { $0.name == name }) else {
                    throw TransferError(.internal, "A mirror that was to send pieces is gone; please report it.")
                }
                do {
                    return try await arrival(hand, place, only: mirror)
                } catch {
                    let failure = try Self.failure(error)
                    switch failure.disposition {
                    case .disk, .network: throw failure
                    case .permanent, .transient: decision = repair.next(wrong: wrong, after: failure)
                    }
                    tools.logger.info(
                        "a mirror cannot give pieces",
                        metadata: ["task": "\(record.id)", "code": "\(failure.error.code.rawValue)"])
                }
            }
        }
    }

    /// Returns the wrong pieces. If the digest of the whole file matches, no piece is checked.
    private func wrongPieces(
        _ whole: inout Whole, _ pieces: PieceDigests, _ map: PieceMap, _ part: PartFile
    ) async throws -> ([Int], TransferError?) {
        guard let checksum = record.spec.checksum else {
            return (try await tools.files.wrongPieces(of: part, pieces, map), nil)
        }
        do {
            whole.digests = try await tools.files.verify(part, expected: [checksum.algorithm: checksum.value])
            return ([], nil)
        } catch let error as TransferError where error.code == .integrityChecksum {
            return (try await tools.files.wrongPieces(of: part, pieces, map), error)
        }
    }

    /// Turns the wrong pieces into gaps, and stores that for the next daemon too.
    private func drop(
        _ error: TransferError, keeping kept: ByteRangeSet, _ whole: Whole, _ hand: PartInHand, _ place: PartPlace
    ) async throws {
        let part = hand.held.part
        var now = try await stored()
        // What a checkpoint claims must be durable.
        _ = try await tools.files.syncedSize(of: part)
        var checkpoint =
            now.checkpoint ?? Checkpoint(offset: .zero, partPath: part.path, device: part.device, inode: part.inode)
        (checkpoint.partPath, checkpoint.device, checkpoint.inode) = (part.path, part.device, part.inode)
        checkpoint.total = whole.arrival.total
        checkpoint.offset = kept.prefix
        checkpoint.ranges = kept.beyond
        // The journal would vouch for wrong bytes.
        tools.engine.journal?.forget(record.id)
        let (record, time) = (record, tools.time.reading().wall)
        let pieces = error.details["pieces"] ?? .array([])
        tools.logger.notice("pieces are wrong", metadata: ["task": "\(record.id)", "pieces": "\(pieces)"])
        try await recorder.replaceCheckpoint(with: checkpoint) { transaction in
            _ = try transaction.append(.restarted(record, because: error, of: pieces, at: time))
        }
        now.checkpoint = checkpoint
        hand.replace(with: try await tools.files.openPart(of: now, place.plan, in: place.folder, engine: tools.engine))
        run.holds(checkpoint.held, of: checkpoint.total)
    }
}
