import CurlEngine
import TransferCore
import TransferModel

/// Moves from a failed mirror to the next.
extension DownloadAttempt {
    /// Fetches the complete file from any mirror; nil if the run was stopped.
    /// - Parameters:
    ///   - begun: the exchanges to continue with.
    ///   - only: as in `MirrorSearch`.
    func arrival(
        _ hand: PartInHand, _ part: PartPlace, begun: BegunDownload? = nil, only: Mirrors.Place? = nil
    ) async throws -> Whole? {
        var running = begun?.exchanges
        var known = begun?.search
        if known == nil { known = try await search(hand, only) }
        guard let search = known else { return nil }
        while true {
            do {
                return try await arrival(search, hand, running)
            } catch  where search.mirrors.count > 1 {
                running = nil
                let failure = try Self.failure(error)
                guard try await goOn(search, after: failure, hand, part) else {
                    throw search.failure ?? failure
                }
            }
        }
    }

    /// Returns the possible mirrors, and the request to the first one.
    @inline(never)  // Keeps its locals out of suspended frames.
    func search(_ hand: PartInHand, _ only: Mirrors.Place? = nil) async throws -> MirrorSearch {
        let pinned = try await tools.files.pinned(
            policy.$network, policy.url(of: record.$spec), owner: record.session.owner)
        return search(hand, only, pinned)
    }

    func search(_ hand: PartInHand, _ only: Mirrors.Place?, _ pinned: PinnedFiles) -> MirrorSearch {
        let mirrors =
            only.map { Mirrors(only: $0) }
            ?? self.mirrors(hand.held.checkpoint, record.response.map { ($0.headers, $0.url) })
        let choice = MirrorChoice(
            count: mirrors.count, held: mirrors.place(of: hand.held.checkpoint),
            sharesBytes: sharesBytes(hand.held.checkpoint), failuresInRow: record.status.failuresInRow,
            integrityRestarts: record.status.integrityRestarts)
        let inquiry = inquiry(at: choice.first, of: mirrors, only, hand, pinned)
        return MirrorSearch(mirrors, pinned, choice, inquiry, only: only)
    }

    /// Returns the request to one mirror.
    @inline(never)  // Keeps its locals out of suspended frames.
    private func inquiry(
        at place: Int, of mirrors: Mirrors, _ only: Mirrors.Place?, _ hand: PartInHand, _ pinned: PinnedFiles
    ) -> Inquiry {
        let base = base(hand.held, pinned)
        let request = base.directed(to: mirrors.places[place])
            .continuing(hand.held.checkpoint, sharesBytes: sharesBytes(hand.held.checkpoint))
        return Inquiry(request: request, others: others(base, mirrors, place, only, hand.held.checkpoint))
    }

    /// Returns the task's mirrors, and those that the server's last answer named. The latter are not trusted without a
    /// digest, nor if a client decides where redirects may lead.
    @inline(never)  // Keeps its locals out of suspended frames.
    func mirrors(_ held: Checkpoint?, _ answer: (headers: [HeaderField], url: String)?) -> Mirrors {
        var mirrors = Mirrors(record.spec.url ?? "", mirrors: record.spec.mirrors)
        if sharesBytes(held), policy.redirects == .follow, let answer {
            mirrors.learn(from: answer.headers, at: answer.url)
        }
        return mirrors
    }

    private func others(
        _ base: StrategyRequest, _ mirrors: Mirrors, _ place: Int, _ only: Mirrors.Place?, _ held: Checkpoint?
    ) -> OtherMirrors {
        if let only {
            return OtherMirrors(
                base: base, places: [], hasDigest: hasDigest, mustNotMix: true,
                fillsGaps: held.map { $0.mirror != only.name } ?? false)
        }
        var places = mirrors.places
        places.remove(at: place)
        return OtherMirrors(
            base: base, places: places, hasDigest: hasDigest,
            mustNotMix: record.status.integrityRestarts > 0 && record.spec.pieces == nil)
    }

    /// Turns to another mirror after one failed, with the part file opened again as it is now; false if there is none.
    @inline(never)  // Keeps its locals out of suspended frames.
    private func goOn(
        _ search: MirrorSearch, after failure: AttemptFailure, _ hand: PartInHand, _ part: PartPlace
    ) async throws -> Bool {
        let id = record.id
        let now = try await stored()
        let holdsBytes = (now.checkpoint?.held ?? .zero) > .zero
        guard let next = search.next(after: failure, holdsBytes: holdsBytes), !run.isAborting else { return false }
        tools.logger.info(
            "goes to another mirror",
            metadata: ["task": "\(id)", "code": "\(failure.error.code.rawValue)", "mirror": "\(next)"])
        hand.replace(with: try await tools.files.openPart(of: now, part.plan, in: part.folder, engine: tools.engine))
        search.turn(
            to: next, inquiry(at: next, of: search.mirrors, search.only, hand, search.pinned))
        return true
    }

    /// Returns the task with the checkpoint that the store has now.
    func stored() async throws -> TaskRecord {
        await recorder.drain()
        let id = record.id
        var now = record
        now.checkpoint = try await tools.patience.store.read { try $0.task(id) }?.checkpoint
        return now
    }

    /// Returns what a mirror's failure means if there are other mirrors.
    /// - Throws: `error` if it does not concern a mirror.
    static func failure(_ error: any Error) throws -> AttemptFailure {
        if let failure = error as? AttemptFailure {
            // Another mirror does not answer a question to the client.
            guard failure.redirect == nil else { throw failure }
            return failure
        }
        // Thrown by the strategy for a mirror that must not be asked at all.
        guard let refusal = error as? TransferError, refusal.code == .plaintextRefused else { throw error }
        return AttemptFailure(error: refusal, disposition: .permanent)
    }

    /// The task has a digest of the whole file.
    private var hasDigest: Bool { record.spec.checksum != nil || record.spec.pieces != nil }

    /// Mirrors may share the file if a digest proves the whole. After a mismatch, only digests of pieces can show which
    /// bytes are wrong; without them, each mirror must supply the whole file.
    private func sharesBytes(_ held: Checkpoint?) -> Bool {
        guard record.status.integrityRestarts == 0 || record.spec.pieces != nil else { return false }
        return hasDigest
            || held?.serverDigests.keys.contains(where: OtherMirrors.strongDigests.contains) == true
    }

    /// Returns the request to the task's own URL.
    private func base(_ held: HeldPart, _ pinned: PinnedFiles) -> StrategyRequest {
        var request = StrategyRequest(record, policy, pinned, tools.time)
        request.resumesUnproven = policy.resumesUnproven
        if held.checkpoint != nil { request.lastHeaders = record.response?.headers ?? [] }
        request.trustedDigest = hasDigest || held.checkpoint?.serverDigests.isEmpty == false
        return request
    }
}
