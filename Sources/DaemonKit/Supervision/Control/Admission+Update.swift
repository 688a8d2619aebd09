import FileKit
import TransferCore
import TransferModel
import TransferRPC

/// Checks a changed task as `task.add` would.
extension Admission {
    /// - Parameter spec: the specification with the change.
    /// - Throws: `request.*`, `source.unreadable`, `permission.denied`.
    func check(_ spec: TaskSpec, changedBy change: UpdateTask.Parameters, of record: TaskRecord) async throws {
        var judged = spec.namingKeptBody
        judged.destination = change.destination ?? spec.destination
        guard let url = try SpecRules(path: "").check(judged) else { return }
        if change.url != nil, url.scheme == .helper { try await self.files.requireHelper(for: url) }
        var files: [(field: String, path: String)] = []
        if let path = change.netrc { files.append(("netrc", path)) }
        if let path = change.caFile { files.append(("caFile", path)) }
        if change.url != nil, let path = url.filePath { files.append(("url", path)) }
        try await self.files.checkReadable(files, owner: owner)
        guard change.changesRequest else { return }
        // What the protocol's strategy refuses is refused now.
        try StrategyRegistry.check(
            StrategyRequest(
                spec: spec.namingKeptBody, now: session.createdAt, source: record.source, nonce: ""), url)
    }
}
