import TransferModel

/// Which tasks a field applies to. For other tasks it would have no effect, so it is refused.
struct FieldUse: Sendable {
    enum Tasks: Sendable, Hashable {
        case downloads, uploads, dataTasks
        /// Uploads over HTTP by one of these protocols. `auto`, which asks the server, accepts the fields of every
        /// protocol that it may choose.
        case uploadsBy(Set<UploadProtocol>)
    }

    let field: String
    let tasks: Tasks
    let isGiven: @Sendable (TaskSpec) -> Bool

    private init(_ field: String, _ tasks: Tasks, _ isGiven: @escaping @Sendable (TaskSpec) -> Bool) {
        self.field = field
        self.tasks = tasks
        self.isGiven = isGiven
    }

    /// Protocols that `auto` may choose.
    private static let automatic: Set<UploadProtocol> = [.tus, .resumable, .put]

    /// The only such table. A field that is not in it applies to every task, or has a check of its own.
    static let all: [FieldUse] = [
        FieldUse("destination", .downloads) { $0.destination != nil },
        FieldUse("conflictPolicy", .downloads) { $0.conflictPolicy != nil },
        FieldUse("checksum", .downloads) { $0.checksum != nil },
        FieldUse("size", .downloads) { $0.size != nil },
        FieldUse("pieces", .downloads) { $0.pieces != nil },
        FieldUse("connections", .downloads) { $0.connections != nil },
        FieldUse("preserveTime", .downloads) { $0.preserveTime != nil },
        FieldUse("resumesUnproven", .downloads) { $0.resumesUnproven != nil },
        FieldUse("durability", .downloads) { $0.durability != nil },
        FieldUse("stream", .dataTasks) { $0.stream != nil },
        FieldUse("requestCachePolicy", .dataTasks) { $0.requestCachePolicy != nil },
        FieldUse("source", .uploads) { $0.source != nil },
        FieldUse("uploadProtocol", .uploads) { $0.uploadProtocol != nil },
        FieldUse("fileName", .uploads) { $0.fileName != nil },
        FieldUse("uploadChecksum", .uploads) { $0.uploadChecksum != nil },
        FieldUse("formField", .uploadsBy([.multipart])) { $0.formField != nil },
        FieldUse("formFields", .uploadsBy([.multipart])) { $0.formFields != nil },
        FieldUse("uploadMetadata", .uploadsBy([.tus])) { $0.uploadMetadata != nil },
        FieldUse("interopVersion", .uploadsBy([.resumable])) { $0.interopVersion != nil },
        FieldUse("uploadCreation", .uploadsBy([.resumable])) { $0.uploadCreation != nil },
        FieldUse("s3", .uploadsBy([.s3Multipart])) { $0.s3 != nil },
    ]

    /// - Parameter upload: how the task uploads; nil for `auto`. Ignored for other kinds.
    /// - Returns: what the field goes with, if that is not this task.
    func mismatch(_ kind: TaskKind, _ upload: UploadProtocol?) -> String? {
        switch tasks {
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

extension SpecRules {
    /// - Throws: `request.bad_field` for a field without effect on such a task. Settings of sessions are not checked,
    ///   because they apply to whichever of their tasks they concern.
    func checkUses(_ spec: TaskSpec, _ upload: UploadProtocol?) throws(TransferError) {
        // By index: the loop would copy each element, for each task.
        for index in FieldUse.all.indices where FieldUse.all[index].isGiven(spec) {
            let use = FieldUse.all[index]
            if let mismatch = use.mismatch(spec.kind, upload) { throw bad(use.field, "goes with \(mismatch).") }
        }
    }

    /// A task may give credentials in one form only.
    func checkCredentials(_ spec: TaskSpec, _ url: ParsedURL?) throws(TransferError) {
        if spec.password != nil, spec.username == nil, spec.resumeData == nil, url?.username == nil {
            throw bad("password", "needs username, which is missing.")
        }
        guard spec.bearer != nil else { return }
        if spec.username != nil { throw bad("username", "say either username or bearer.") }
        if spec.headers?.contains(where: { $0.isNamed("authorization") }) ?? false {
            throw bad("bearer", "say either bearer or the header Authorization.")
        }
    }

    func checkCapacity(_ capacity: ByteCount?, _ name: String, _ most: Int) throws(TransferError) {
        guard let capacity, !(0...Int64(most)).contains(capacity.rawValue) else { return }
        throw bad("urlCache.\(name)", "0 to \(most) bytes.")
    }

    /// Headers that dld sets itself, and would drop.
    static func ownedHeaders(of kind: TaskKind) -> Set<String> {
        switch kind {
        case .download: RequestHeaders.owned
        case .data: RequestHeaders.framing
        case .upload: RequestHeaders.owned.union(UploadRequest.owned)
        }
    }
}
