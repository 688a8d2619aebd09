import CurlEngine
import FileKit
import TransferCore
import TransferModel

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
                case .failure(let early): ended(early.ending)
                }
            }
        }
    }

    /// The attempt ended before any exchange began.
    private struct EndedEarly: Error {
        var ending: AttemptEnding
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
        let (recorder, search) = (recorder(of: record), search(hand, .all, pinned))
        let exchanges = try? exchanges(search, hand, recorder)
        exchanges?.steps.begin()
        return BegunDownload(place: place, opened: (hand, recorder), search: search, exchanges: exchanges)
    }

    private func beginLater(_ plan: DestinationPlan) async -> Result<BegunDownload, EndedEarly> {
        do {
            let folder = try await tools.files.open(plan, for: record)
            do {
                return .success(try await begin(PartPlace(plan: plan, folder: folder)))
            } catch {
                if !(error is EndedEarly) { tools.files.forget(folder, for: record) }
                throw error
            }
        } catch let early as EndedEarly {
            return .failure(early)
        } catch {
            return .failure(EndedEarly(ending: AttemptEnding(of: error)))
        }
    }

    private func begin(_ place: PartPlace) async throws -> BegunDownload {
        if let delivered = try await tools.files.alreadyDelivered(place.plan, place.folder, record, policy) {
            // The coded body, if the file was decoded.
            await tools.files.removeUseless(of: record, place.plan, in: place.folder)
            throw EndedEarly(ending: try await tools.complete(record, of: run, with: delivered))
        }
        try await tools.files.requireSpace(
            in: place.folder, leaving: tools.minimumFreeSpace(), at: tools.time.reading().boot)
        // Copying the part file may take long, so other attempts may begin meanwhile.
        guard tools.moves.isInPlace(record, place) else {
            return BegunDownload(place: place, opened: nil, search: nil, exchanges: nil)
        }
        let (hand, recorder) = try await open(record, place)
        // An error here occurs again in `end`, which knows what follows from it.
        let search = try? await search(hand)
        var exchanges: FileExchanges?
        if let search { exchanges = try? await begunExchanges(search, hand, recorder) }
        return BegunDownload(place: place, opened: (hand, recorder), search: search, exchanges: exchanges)
    }

    /// Opens the part file, and makes the recorder of what happens to it.
    func open(_ record: TaskRecord, _ place: PartPlace) async throws -> (PartInHand, RunRecorder) {
        let hand = PartInHand(
            try await tools.files.openPart(of: record, place.plan, in: place.folder, engine: tools.engine))
        if let checkpoint = hand.held.checkpoint { run.holds(checkpoint.held, of: checkpoint.total) }
        let recorder = recorder(of: record)
        if case .answered(_, _?) = policy.redirects, hand.held.part.isOpen {
            try await beginAnew(hand, place, recorder, because: Self.replacedByRedirect)
        }
        return (hand, recorder)
    }

    private static let replacedByRedirect = TransferError(
        .validatorChanged, "The redirect that was refused is the answer. The bytes that were held are dropped.")

    private func recorder(of record: TaskRecord) -> RunRecorder {
        RunRecorder(
            record: record, run: run, keepsAnswers: true, patience: tools.patience,
            keeper: tools.checkpoints, time: tools.time, logger: logger, asking: tools.asking(of: record, run, policy))
    }

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
