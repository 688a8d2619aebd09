import CurlEngine
import FileKit
import TransferCore
import TransferModel

/// Moves a complete download to the folder that `directories` of its session choose for it.
struct FolderChoice: Sendable {
    let record: TaskRecord
    let rules: [DirectoryRule]
    let recorder: RunRecorder
    let tools: AttemptTools

    /// nil if the task names its folder, or its session has no rules.
    init?(_ record: TaskRecord, _ policy: EffectivePolicy, _ recorder: RunRecorder, _ tools: AttemptTools) {
        guard record.spec.destination?.isDefault == true, !policy.directories.isEmpty else { return nil }
        (self.record, rules, self.recorder, self.tools) = (record, policy.directories, recorder, tools)
    }

    /// The new folder is stored before the file moves there. If the daemon dies in between, the next attempt finishes
    /// the move, as after a change of the destination.
    /// - Parameters:
    ///   - name: the file's name.
    ///   - place: becomes the chosen folder.
    /// - Throws: `disk.*`, `destination.*`, and what the store throws.
    func apply(
        to whole: DownloadAttempt.Whole, named name: String, _ hand: PartInHand, _ place: inout PartPlace
    ) async throws {
        let type = whole.arrival.head?.values("content-type").first ?? record.response?.mimeType
        guard let directory = rules.directory(type: type, name: name), directory != place.plan.folder else { return }
        let destination = Destination(directory: directory, filename: place.plan.name)
        let plan = try DestinationPlan(destination)
        var elsewhere = record
        elsewhere.destinationDevice = nil
        let folder = try? await tools.files.open(plan, for: elsewhere)
        // The same folder may have another spelling.
        guard folder?.identity != place.folder.identity else { return }
        // A folder that is missing is not created, but waited for, like that of any other task.
        let device =
            folder == nil ? nil : try await tools.files.admit(plan, owner: record.session.owner, field: "directories")
        if whole.gathered == nil {
            let part = hand.held.part
            let size = try await tools.files.syncedSize(of: part)
            try await recorder.close(
                holding: FileIdentity(part), at: part.path, size, coding: whole.arrival.contentCoding)
            // All bytes are durable, and its claims may be of a version that is not stored.
            tools.engine.journal?.forget(record.id)
        }
        var moved = try await stored((destination, device))
        tools.logger.info("directory chosen", metadata: ["task": "\(record.id)", "to": "\(directory)"])
        place = PartPlace(plan: plan, folder: try await tools.files.open(plan, for: moved))
        if whole.gathered == nil {
            moved.checkpoint = try await tools.moves.bring(moved, to: place)
            recorder.moved(to: moved.checkpoint)
        } else {
            await tools.moves.clean(moved.id)
        }
        let opened = try await tools.files.openPart(of: moved, plan, in: place.folder, engine: tools.engine)
        hand.replace(with: opened)
        guard whole.gathered != nil || opened.checkpoint?.held == whole.arrival.total else {
            throw TransferFiles.damage(noted: opened.part)
        }
    }

    /// Stores the destination.
    /// - Returns: the task with it.
    private func stored(_ chosen: TaskChange.MovedDestination) async throws -> TaskRecord {
        let (id, now, storeID) = (record.id, tools.time.reading().wall, tools.files.storeID)
        return try await tools.patience.persistently { transaction in
            // Other fields may have been changed meanwhile.
            guard var known = try transaction.task(id) else { throw TransferError.noTask(id) }
            try TaskChange.move(known, to: chosen, at: now, storeID, in: transaction)
            known.spec.destination = chosen.destination
            known.destinationDevice = chosen.device
            try transaction.setSpec(id, known.spec, host: known.host)
            return known
        }
    }
}
