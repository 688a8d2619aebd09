import CurlEngine
import TransferCore
import TransferModel

/// Goes from one place that has the file to the next where one fails.
extension DownloadAttempt {
    /// The whole file, from wherever it comes; nil if the run was stopped.
    /// - Parameters:
    ///   - begun: goes on with what was begun.
    ///   - asked: places that may be asked.
    func arrival(
        _ hand: PartInHand, _ part: PartPlace, _ recorder: RunRecorder, begun: BegunDownload? = nil,
        from asked: AskedPlaces = .all
    ) async throws -> Whole? {
        var running = begun?.exchanges
        var known = begun?.search
        if known == nil { known = try await search(hand, from: asked) }
        guard let search = known else { return nil }
        while true {
            do {
                return try await arrival(search, hand, recorder, running)
            } catch  where search.origins.count > 1 {
                running = nil
                let failure = try Self.failure(error)
                guard try await goOn(search, after: failure, hand, part, recorder) else {
                    throw search.failure ?? failure
                }
            }
        }
    }

    /// Where the file may come from, and what is asked of the place that is first.
    @inline(never)  // Kept off the frames that wait.
    func search(_ hand: PartInHand, from asked: AskedPlaces = .all) async throws -> OriginSearch {
        let pinned = try await tools.files.pinned(
            policy.$network, policy.url(of: record.$spec), owner: record.session.owner)
        return search(hand, asked, pinned)
    }

    func search(_ hand: PartInHand, _ asked: AskedPlaces, _ pinned: PinnedFiles) -> OriginSearch {
        let origins: Origins
        switch asked {
        case .all: origins = self.origins(hand.held.checkpoint, record.response.map { ($0.headers, $0.url) })
        case .only(let place): origins = Origins(only: place)
        }
        let choice = OriginChoice(
            count: origins.count, held: origins.place(of: hand.held.checkpoint),
            sharesBytes: sharesBytes(hand.held.checkpoint), failuresInRow: record.status.failuresInRow,
            integrityRestarts: record.status.integrityRestarts)
        let inquiry = inquiry(at: choice.first, of: origins, asked, hand, pinned)
        return OriginSearch(origins, pinned, choice, inquiry, asking: asked)
    }

    /// What is asked of one place.
    @inline(never)  // Kept off the frames that wait.
    private func inquiry(
        at place: Int, of origins: Origins, _ asked: AskedPlaces, _ hand: PartInHand, _ pinned: PinnedFiles
    ) -> Inquiry {
        let base = base(hand.held, pinned)
        let request = base.directed(to: origins.places[place])
            .continuing(hand.held.checkpoint, sharesBytes: sharesBytes(hand.held.checkpoint))
        return Inquiry(request: request, others: others(base, origins, place, asked, hand.held.checkpoint))
    }

    /// The task's places, and those that the server named in its last answer: a digest must be there to trust them.
    @inline(never)  // Kept off the frames that wait.
    func origins(_ held: Checkpoint?, _ answer: (headers: [HeaderField], url: String)?) -> Origins {
        var origins = Origins(record.spec.url ?? "", mirrors: record.spec.mirrors)
        if sharesBytes(held), let answer { origins.learn(from: answer.headers, at: answer.url) }
        return origins
    }

    private func others(
        _ base: StrategyRequest, _ origins: Origins, _ place: Int, _ asked: AskedPlaces, _ held: Checkpoint?
    ) -> OtherOrigins {
        var places = origins.places
        places.remove(at: place)
        switch asked {
        case .all:
            return OtherOrigins(
                base: base, places: places, hasDigest: hasDigest,
                mustNotMix: record.status.integrityRestarts > 0 && record.spec.pieces == nil)
        case .only(let place):
            return OtherOrigins(
                base: base, places: [], hasDigest: hasDigest, mustNotMix: true,
                fillsGaps: held.map { $0.origin != place.name } ?? false)
        }
    }

    /// Turns to another place after one failed, with the part opened as it is now; false if there is none.
    @inline(never)  // Kept off the frames that wait.
    private func goOn(
        _ search: OriginSearch, after failure: AttemptFailure, _ hand: PartInHand, _ part: PartPlace,
        _ recorder: RunRecorder
    ) async throws -> Bool {
        let id = record.id
        let now = try await stored(recorder)
        let holdsBytes = (now.checkpoint?.held ?? .zero) > .zero
        guard let next = search.next(after: failure, holdsBytes: holdsBytes), !run.isAborting else { return false }
        logger.info(
            "goes to another mirror",
            metadata: ["task": "\(id)", "code": "\(failure.error.code.rawValue)", "mirror": "\(next)"])
        hand.replace(with: try await tools.files.openPart(of: now, part.plan, in: part.folder, engine: tools.engine))
        search.turn(
            to: next, inquiry(at: next, of: search.origins, search.allowed, hand, search.pinned))
        return true
    }

    /// The task with the checkpoint that the store has now.
    func stored(_ recorder: RunRecorder) async throws -> TaskRecord {
        await recorder.drain()
        let id = record.id
        var now = record
        now.checkpoint = try await tools.patience.store.read { try $0.task(id) }?.checkpoint
        return now
    }

    /// What a place's refusal means where there are others.
    /// - Throws: `error` if it is of no place.
    static func failure(_ error: any Error) throws -> AttemptFailure {
        if let failure = error as? AttemptFailure {
            // Another place is no answer to a question.
            guard failure.redirect == nil else { throw failure }
            return failure
        }
        // The strategy of a place that must not be asked at all.
        guard let refusal = error as? TransferError, refusal.code == .plaintextRefused else { throw error }
        return AttemptFailure(error: refusal, disposition: .permanent)
    }

    /// The task says what all of the file must hash to.
    private var hasDigest: Bool { record.spec.checksum != nil || record.spec.pieces != nil }

    /// A digest of the whole file will prove it, whatever places its bytes are from. Not after it was wrong once, unless
    /// pieces say where: then each place has to give all of it.
    private func sharesBytes(_ held: Checkpoint?) -> Bool {
        guard record.status.integrityRestarts == 0 || record.spec.pieces != nil else { return false }
        return hasDigest
            || held?.serverDigests.keys.contains(where: OtherOrigins.strongDigests.contains) == true
    }

    /// The request as the task's own URL is asked.
    private func base(_ held: HeldPart, _ pinned: PinnedFiles) -> StrategyRequest {
        var request = StrategyRequest(record, policy, pinned, tools.time)
        if request.url != pinned.url { request.spec.url = pinned.url }
        request.trustedDigest = hasDigest || held.checkpoint?.serverDigests.isEmpty == false
        return request
    }
}
