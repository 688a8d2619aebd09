import FoundationEssentials
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// A task that may be stored: its destination is settled and everything it names was looked at.
struct AdmittedTask: Sendable {
    var spec: TaskSpec
    var host: String
    var destinationDevice: UInt64?
    /// What resume data brought along.
    var checkpoint: Checkpoint?
    /// What it sends, as it is now.
    var source: SourceIdentity?
    /// A body that the store keeps.
    var requestBody: [UInt8]?
}

/// Checks the tasks of one `task.add`; remembers folders so that a thousand tasks for one of them cost one look.
struct Admission {
    let owner: UserID
    let session: SessionRecord
    let configuration: Configuration
    let files: TransferFiles
    private var devices: [String: UInt64] = [:]

    init(owner: UserID, session: SessionRecord, configuration: Configuration, files: TransferFiles) {
        self.owner = owner
        self.session = session
        self.configuration = configuration
        self.files = files
    }

    /// - Throws: `request.*`, `destination.*`, `permission.denied`, `source.unreadable`.
    mutating func admit(_ spec: TaskSpec, path: String) async throws -> AdmittedTask {
        do {
            try UnbuiltNames.check(spec, path: path)
            try SpecRules(path: path).check(spec)
            var spec = spec
            let brought = try await unpackResumeData(&spec, path: path)
            try await files.checkReadable(Self.localFiles(of: spec, path: path), owner: owner)
            var task = AdmittedTask(
                spec: spec, host: try URLRules.parse(spec.url ?? "").hostKey, destinationDevice: nil,
                checkpoint: brought)
            switch spec.kind {
            case .download:
                task.spec.destination = try settledDestination(of: spec)
                task.destinationDevice = try await device(
                    for: try DestinationPlan(task.spec.destination, directory: nil))
            case .upload:
                if let source = spec.source {
                    task.source = try await files.admitSource(source.path, owner: owner)
                }
            case .data: break
            }
            try await takeBody(of: &task)
            // What the protocol's strategy refuses is refused here already.
            _ = try StrategyRegistry.strategy(
                for: StrategyRequest(
                    spec: task.spec.namingKeptBody, now: session.createdAt, source: task.source))
            return task
        } catch let error as TransferError where error.details["field"] == nil {
            throw TransferError(
                error.code, "\(path): \(error.message)", details: error.details.merging(["field": .string(path)]) { $1 }
            )
        }
    }

    /// Folders are looked at once for each call; a destination that names its file is looked at each time.
    private mutating func device(for plan: DestinationPlan) async throws -> UInt64 {
        if plan.name == nil, let known = devices[plan.folder] { return known }
        let device = try await files.admit(plan, owner: owner)
        devices[plan.folder] = device
        return device
    }

    /// Copies the body of a request where it is small, and leaves nothing of it in the spec.
    private func takeBody(of task: inout AdmittedTask) async throws {
        guard let body = task.spec.body else { return }
        var content: [UInt8]?
        if let path = body.file {
            switch try await files.admitBody(path, owner: owner, copyingUpTo: Self.copiedBody) {
            case .copied(let bytes): content = bytes
            case .referenced(let identity): task.source = identity
            }
        } else if let text = body.text {
            content = Array(text.utf8)
        } else if let text = body.base64, let data = Data(base64Encoded: text) {
            content = Array(data)
        }
        guard let content else { return }
        task.requestBody = content
        task.spec.body = RequestBody()
        task.source = .kept(ByteCount(Int64(content.count)))
    }

    /// A body's file up to this length is copied.
    static let copiedBody = ByteCount.mebibytes(1)

    private static func localFiles(of spec: TaskSpec, path: String) throws -> [(field: String, path: String)] {
        var files: [(String, String?)] = [
            ("netrc", spec.netrc), ("caFile", spec.caFile),
            ("clientCertificate.certificate", spec.clientCertificate?.certificate),
            ("clientCertificate.key", spec.clientCertificate?.key), ("body.file", spec.body?.file),
            ("source.path", spec.source?.path),
        ]
        if let url = spec.url, let path = try? URLRules.parse(url).filePath {
            files.append(("url", path))
        }
        return files.compactMap { field, file in file.map { ("\(path).\(field)", $0) } }
    }

    /// What `task.resumeData` gave returns as it was made: URL, destination and the bytes that are held.
    private func unpackResumeData(_ spec: inout TaskSpec, path: String) async throws -> Checkpoint? {
        guard let text = spec.resumeData else { return nil }
        guard spec.kind == .download else {
            throw TransferError(
                .badField, "\(path).resumeData: only downloads have it.",
                details: ["field": .string("\(path).resumeData")])
        }
        let data = try ResumeData(decoding: text)
        spec.resumeData = nil
        spec.url = spec.url ?? data.url
        spec.destination = spec.destination ?? data.destination
        spec.conflictPolicy = spec.conflictPolicy ?? data.conflictPolicy
        spec.checksum = spec.checksum ?? data.checksum
        spec.preserveTime = spec.preserveTime ?? data.preserveTime
        spec.description = spec.description ?? data.description
        try SpecRules(path: path).check(spec)
        return try await files.checked(data, owner: owner)
    }

    /// The destination with its folder: the task's, the session's, the configured or the conventional one.
    private func settledDestination(of spec: TaskSpec) throws -> Destination {
        var destination = spec.destination ?? Destination()
        if destination.path == nil, destination.directory == nil {
            destination.directory =
                session.configuration.directory ?? configuration.downloadDirectory ?? files.ownFolder(of: owner)
        }
        return destination
    }
}
