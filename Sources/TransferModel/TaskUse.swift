/// The tasks that a member of a task is for. For others it would have no effect, so it is refused.
public enum TaskUse: Sendable, Hashable {
    case downloads, uploads, dataTasks
    /// Uploads over HTTP by one of these protocols. `auto`, which asks the server, accepts the fields of every protocol
    /// that it may choose.
    case uploadsBy(Set<UploadProtocol>)

    /// Protocols that `auto` may choose.
    private static let automatic: Set<UploadProtocol> = [.tus, .resumable, .put]

    /// - Parameter upload: how the task uploads; nil for `auto`. Ignored for other kinds.
    /// - Returns: what the field goes with, if that is not this task.
    package func mismatch(_ kind: TaskKind, _ upload: UploadProtocol?) -> String? {
        switch self {
        case .downloads: kind == .download ? nil : "downloads; this task is of kind \(kind.rawValue)"
        case .dataTasks: kind == .data ? nil : "data tasks; this task is of kind \(kind.rawValue)"
        case .uploads: kind == .upload ? nil : "uploads; this task is of kind \(kind.rawValue)"
        case .uploadsBy(let protocols):
            if kind != .upload {
                "uploads; this task is of kind \(kind.rawValue)"
            } else if let upload {
                protocols.contains(upload)
                    ? nil : "uploadProtocol \(Self.words(protocols)); this task has \(upload.rawValue)"
            } else {
                protocols.isDisjoint(with: Self.automatic) ? "uploadProtocol \(Self.words(protocols))" : nil
            }
        }
    }

    private static func words(_ protocols: Set<UploadProtocol>) -> String {
        protocols.map(\.rawValue).sorted().joined(separator: " or ")
    }
}
