import TransferCore
import TransferModel
import TransferRPC

/// Checks a changed task as `task.add` would check it.
extension Admission {
    /// - Parameter spec: with the change.
    /// - Throws: `request.*`, `policy.plaintext_refused`, `source.unreadable`, `permission.denied`.
    func check(_ spec: TaskSpec, changedBy change: UpdateTask.Parameters, of record: TaskRecord) async throws {
        switch spec.kind {
        case .download: break
        case .upload, .data:
            try Self.refuse("destination", change.destination != nil, spec.kind)
            try Self.refuse("checksum", change.checksum != nil, spec.kind)
            try Self.refuse("conflictPolicy", change.conflictPolicy != nil, spec.kind)
        }
        var judged = spec.namingKeptBody
        judged.destination = change.destination ?? spec.destination
        guard let url = try SpecRules(path: "").check(judged) else { return }
        var files: [(field: String, path: String)] = []
        if let path = change.netrc { files.append(("netrc", path)) }
        if let path = change.caFile { files.append(("caFile", path)) }
        if change.url != nil, let path = url.filePath { files.append(("url", path)) }
        try await self.files.checkReadable(files, owner: owner)
        guard change.changesRequest else { return }
        // What the protocol's strategy refuses is refused here already.
        _ = try StrategyRegistry.strategy(
            for: StrategyRequest(
                spec: spec.namingKeptBody, now: session.createdAt, source: record.source, nonce: ""), url)
    }

    private static func refuse(_ field: String, _ isGiven: Bool, _ kind: TaskKind) throws(TransferError) {
        guard isGiven else { return }
        throw TransferError(
            .badField, "\(field): goes with downloads; this task is of kind \(kind.rawValue).",
            details: ["field": .string(field)])
    }
}
