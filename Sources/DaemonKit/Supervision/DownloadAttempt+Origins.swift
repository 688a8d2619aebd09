import CurlEngine
import TransferCore
import TransferModel

/// Goes from one place that has the file to the next where one fails.
extension DownloadAttempt {
    /// The whole file, from wherever it comes; nil where the run was stopped.
    /// - Parameter avoided: places that are asked only where no other is left.
    func arrival(
        _ hand: PartInHand, _ part: PartPlace, _ recorder: RunRecorder, avoiding avoided: Set<String?> = []
    ) async throws -> Whole? {
        let origins = origins(hand.held.checkpoint)
        let pinned = try await tools.files.pinned(
            policy.network, record.spec.url ?? "", owner: record.session.owner)
        defer { withExtendedLifetime(pinned) {} }
        var choice = OriginChoice(
            count: origins.count, held: origins.place(of: hand.held.checkpoint),
            avoided: Set(origins.places.indices.filter { avoided.contains(origins.places[$0].name) }),
            sharesBytes: sharesBytes(hand.held.checkpoint), failuresInRow: record.status.failuresInRow,
            integrityRestarts: record.status.integrityRestarts)
        var place = choice.first
        while true {
            do {
                let inquiry = inquiry(at: place, of: origins, avoiding: avoided, hand, pinned)
                return try await exchanges(inquiry, hand.held, recorder) { asked, brought in
                    choice.tried(Set(origins.places.indices.filter { asked.contains(origins.places[$0].name) }))
                    hand.note(brought)
                }
            } catch  where origins.count > 1 {
                let failure = try Self.failure(error)
                guard let next = try await next(&choice, after: failure, of: place, hand, part, recorder) else {
                    throw choice.failure ?? failure
                }
                place = next
            }
        }
    }

    /// What is asked of one place.
    @inline(never)  // Kept off the frames that wait.
    private func inquiry(
        at place: Int, of origins: Origins, avoiding avoided: Set<String?>, _ hand: PartInHand, _ pinned: PinnedFiles
    ) -> Inquiry {
        let base = base(hand.held, pinned)
        let request = base.directed(to: origins.places[place])
            .continuing(hand.held.checkpoint, sharesBytes: sharesBytes(hand.held.checkpoint))
        return Inquiry(request: request, others: others(base, origins, place, avoided))
    }

    /// The task's places, and those that the server named in its last answer: a digest must be there to trust them.
    @inline(never)  // Kept off the frames that wait.
    private func origins(_ held: Checkpoint?) -> Origins {
        var origins = Origins(record.spec)
        if sharesBytes(held), let response = record.response {
            origins.learn(from: response.headers, at: response.url)
        }
        return origins
    }

    private func others(
        _ base: StrategyRequest, _ origins: Origins, _ place: Int, _ avoided: Set<String?>
    ) -> OtherOrigins {
        var places = origins.places
        places.remove(at: place)
        return OtherOrigins(
            base: base, places: places, hasDigest: hasDigest,
            mustNotMix: record.status.integrityRestarts > 0 && record.spec.pieces == nil, avoided: avoided)
    }

    /// Where to go on after a place failed; the part is then opened as it is now.
    @inline(never)  // Kept off the frames that wait.
    private func next(
        _ choice: inout OriginChoice, after failure: AttemptFailure, of place: Int, _ hand: PartInHand,
        _ part: PartPlace, _ recorder: RunRecorder
    ) async throws -> Int? {
        let id = record.id
        let now = try await stored(recorder)
        let holdsBytes = (now.checkpoint?.held ?? .zero) > .zero
        guard let next = choice.next(after: failure, of: place, holdsBytes: holdsBytes), !run.isAborting else {
            return nil
        }
        logger.info(
            "goes to another mirror",
            metadata: ["task": "\(id)", "code": "\(failure.error.code.rawValue)", "mirror": "\(next)"])
        hand.replace(with: try await tools.files.openPart(of: now, part.plan, in: part.folder, engine: tools.engine))
        return next
    }

    /// The task with the checkpoint that the store has now.
    func stored(_ recorder: RunRecorder) async throws -> TaskRecord {
        await recorder.settle()
        let id = record.id
        var now = record
        now.checkpoint = try await tools.patience.store.read { try $0.task(id) }?.checkpoint
        return now
    }

    /// What a place's refusal means where there are others.
    /// - Throws: `error` where it is of no place.
    private static func failure(_ error: any Error) throws -> AttemptFailure {
        if let failure = error as? AttemptFailure { return failure }
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
        var request = StrategyRequest(record, policy, pinned.network, tools.time)
        request.spec.url = pinned.url
        request.trustedDigest = hasDigest || held.checkpoint?.serverDigests.isEmpty == false
        return request
    }
}

/// The request to one place, and where else the file is; one object, because transfers that wait hold it.
final class Inquiry: Sendable {
    let request: StrategyRequest
    let others: OtherOrigins

    init(request: StrategyRequest, others: OtherOrigins) {
        self.request = request
        self.others = others
    }
}
