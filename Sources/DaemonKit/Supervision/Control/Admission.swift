import DaemonSetup
import FileKit
import FoundationEssentials
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// A task that may be stored: its destination is decided, and everything it names has been checked.
struct AdmittedTask: Sendable {
    /// The position in the call.
    var index = 0
    @Boxed var spec: TaskSpec
    var host = ""
    var destinationDevice: UInt64?
    /// The destination of a download.
    var plan: DestinationPlan?
    /// The checkpoint from resume data.
    @BoxedOptional var checkpoint: Checkpoint?
    /// What the task sends, as it is now.
    @BoxedOptional var source: SourceIdentity?
    /// A body that the store keeps.
    var requestBody: [UInt8]?
    /// `spec` as it is stored.
    var specText: String?
    /// nil if the task must run.
    @BoxedOptional var end: NewTask.End?
}

/// Checks the tasks of one `task.add`: first their specifications, then the files and folders that they name.
struct Admission {
    let owner: UserID
    let session: SessionRecord
    let configuration: Configuration
    let files: TransferFiles
    /// nil if all tasks must run.
    var answers: EarlyAnswers.Answers?
    /// nil if the session ignores HSTS.
    var hsts: TaskHSTS?

    /// - Parameter known: positions of tasks to leave out.
    /// - Throws: `request.*`, `destination.*`, `permission.denied`, `source.unreadable`.
    func admit(_ specs: [TaskSpec], except known: Set<Int> = []) async throws -> [AdmittedTask] {
        var tasks = try await admitInPieces(specs, specs.indices.filter { !known.contains($0) })
        let downloads = tasks.indices.filter { tasks[$0].plan != nil }
        let looks = await files.admit(downloads.compactMap { tasks[$0].plan }, owner: owner)
        for (index, look) in zip(downloads, looks) {
            do {
                tasks[index].destinationDevice = try look.get()
            } catch {
                let given = specs[tasks[index].index].destination
                let field = given?.path != nil ? ".destination.path" : ".destination"
                throw Self.naming(Self.path(tasks[index].index) + field, error)
            }
        }
        return tasks
    }

    /// The number of tasks in a piece. Several processors check the pieces of a large call.
    static let piece = 128

    /// - Throws: the refusal of the first refused task.
    private func admitInPieces(_ specs: [TaskSpec], _ places: [Int]) async throws -> [AdmittedTask] {
        guard places.count > Self.piece else { return try await admit(specs, at: places[...]) }
        let starts = Array(stride(from: 0, to: places.count, by: Self.piece))
        return try await withThrowingTaskGroup(of: Piece.self) { group in
            for (number, start) in starts.enumerated() {
                let part = places[start..<min(start + Self.piece, places.count)]
                group.addTask { await piece(number, of: specs, at: part) }
            }
            var pieces: [Result<[AdmittedTask], any Error>?] = Array(repeating: nil, count: starts.count)
            for try await piece in group { pieces[piece.number] = piece.tasks }
            var tasks: [AdmittedTask] = []
            tasks.reserveCapacity(places.count)
            for piece in pieces.compactMap({ $0 }) { tasks += try piece.get() }
            return tasks
        }
    }

    /// A separate type, because the optimizer of Swift 6.3.1 mixes up the members of a tuple that a child task returns.
    private struct Piece: Sendable {
        var number: Int
        var tasks: Result<[AdmittedTask], any Error>
    }

    private func piece(_ number: Int, of specs: [TaskSpec], at places: ArraySlice<Int>) async -> Piece {
        do {
            return Piece(number: number, tasks: .success(try await admit(specs, at: places)))
        } catch {
            return Piece(number: number, tasks: .failure(error))
        }
    }

    private func admit(_ specs: [TaskSpec], at places: ArraySlice<Int>) async throws -> [AdmittedTask] {
        var tasks: [AdmittedTask] = []
        tasks.reserveCapacity(places.count)
        for index in places {
            tasks.append(try await admit(specs[index], path: Self.path(index)))
            tasks[tasks.count - 1].index = index
        }
        return tasks
    }

    private static func path(_ index: Int) -> String { "tasks[\(index)]" }

    /// Adds the task's path to a refusal. Functions that check one task name the field at fault, but not the task.
    private static func naming(_ path: String, _ error: TransferError) -> TransferError {
        let field = error.details["field"]?.stringValue
        if let field, field.hasPrefix(path) { return error }
        let isNamed = field.map { error.message.hasPrefix($0) } ?? false
        return TransferError(
            error.code, isNamed ? "\(path).\(error.message)" : "\(path): \(error.message)", retryable: error.retryable,
            details: error.details.merging(["field": .string(field.map { "\(path).\($0)" } ?? path)]) { $1 })
    }

    private func admit(_ spec: TaskSpec, path: String) async throws -> AdmittedTask {
        do {
            let given = try SpecRules(path: path).check(spec)
            if spec.stream == true, session.kind == .background { throw Self.noStream(path) }
            var task = AdmittedTask(spec: spec)
            if spec.resumeData != nil { task.checkpoint = try await unpackResumeData(&task.spec, path: path) }
            let url = try given ?? URLRules.parse(task.spec.url ?? "")
            if url.scheme == .helper {
                try await files.requireHelper(for: url)
                if (task.spec.interface ?? session.configuration.interface) != nil {
                    throw TransferError.unboundHelper(url.schemeName)
                }
            }
            task.host = host(of: url)
            let named = Self.localFiles(of: task.$spec, url, path: path)
            if !named.isEmpty { try await files.checkReadable(named, owner: owner) }
            switch spec.kind {
            case .download:
                let destination = try complete(task.spec.destination)
                task.spec.destination = destination
                task.plan = try DestinationPlan(destination)
            case .upload:
                if let source = task.spec.source {
                    task.source = try await files.admitSource(
                        source.path, field: "\(path).source.path", owner: owner)
                }
            case .data: break
            }
            if task.spec.body != nil { try await keepBody(of: &task, path: path) }
            task.specText = NewTask.text(of: task.spec)
            task.end = answers?(task, url)
            // What the protocol's strategy refuses is refused now.
            if task.end == nil {
                try StrategyRegistry.check(
                    StrategyRequest(
                        sharing: task.$spec.namingKeptBody, Self.anyNetwork, now: session.createdAt,
                        source: task.source, nonce: ""), url)
            }
            return task
        } catch let error as TransferError {
            throw Self.naming(path, error)
        }
    }

    /// The server whose slots and gates count for a task.
    func host(of url: ParsedURL) -> String { hsts?.hostKey(of: url) ?? url.hostKey }

    /// What a strategy refuses does not depend on the network options.
    private static let anyNetwork = Boxed(wrappedValue: NetworkOptions())

    private static func noStream(_ path: String) -> TransferError {
        TransferError.bad(
            "\(path).stream",
            "the session is durable, and a stream ends with its connection; open a session of kind "
                + "`default` or `ephemeral`.")
    }

    /// Copies the body of a request if it is small. The spec then keeps only where the body came from.
    private func keepBody(of task: inout AdmittedTask, path place: String) async throws {
        guard let body = task.spec.body else { return }
        var content: [UInt8]?
        if let path = body.file {
            let admitted = try await files.admitBody(
                path, field: "\(place).body.file", owner: owner, copyingUpTo: Self.copiedBody)
            (task.source, content) = (admitted.identity, admitted.content)
        } else if let text = body.text {
            content = Array(text.utf8)
        } else if let text = body.base64, let data = Data(base64Encoded: text) {
            content = Array(data)
        }
        guard let content else { return }
        if task.spec.kind == .upload { task.spec.fileName = task.spec.uploadName }
        task.requestBody = content
        var kept = RequestBody()
        kept.file = body.file
        task.spec.body = kept
        task.source = .kept(ByteCount(Int64(content.count)))
    }

    /// A body's file up to this size is copied.
    static let copiedBody = ByteCount.mebibytes(1)

    private static func localFiles(
        of spec: Boxed<TaskSpec>, _ url: ParsedURL, path: String
    ) -> [(field: String, path: String)] {
        var files: [(field: String, path: String)] = []
        func name(_ field: String, _ file: String?) {
            if let file { files.append(("\(path).\(field)", file)) }
        }
        name("netrc", spec.wrappedValue.netrc)
        name("caFile", spec.wrappedValue.caFile)
        name("clientCertificate.certificate", spec.wrappedValue.clientCertificate?.certificate)
        name("clientCertificate.key", spec.wrappedValue.clientCertificate?.key)
        name("body.file", spec.wrappedValue.body?.file)
        name("source.path", spec.wrappedValue.source?.path)
        name("url", url.filePath)
        return files
    }

    /// Restores what `task.resumeData` packed: URL, destination and the bytes that are held.
    private func unpackResumeData(_ spec: inout TaskSpec, path: String) async throws -> Checkpoint? {
        guard let text = spec.resumeData else { return nil }
        guard spec.kind == .download else {
            throw TransferError.bad("\(path).resumeData", "only downloads have it.")
        }
        let data = try ResumeData(decoding: text)
        spec.resumeData = nil
        spec.url = spec.url ?? data.url
        spec.mirrors = spec.mirrors ?? data.mirrors
        spec.destination = spec.destination ?? data.destination
        spec.conflictPolicy = spec.conflictPolicy ?? data.conflictPolicy
        spec.checksum = spec.checksum ?? data.checksum
        spec.size = spec.size ?? data.size
        spec.pieces = spec.pieces ?? data.pieces?.unpacked
        spec.preserveTime = spec.preserveTime ?? data.preserveTime
        spec.description = spec.description ?? data.description
        try SpecRules(path: path).check(spec)
        guard let held = try await files.checked(data, owner: owner) else { return nil }
        var before = TaskSpec()
        (before.url, before.mirrors) = (data.url, data.mirrors)
        return Mirrors.renamed(held, from: before, to: spec) ?? held
    }

    /// Completes the destination with its folder: the task's, the session's, the configured or the conventional one.
    func complete(_ destination: Destination?) throws -> Destination {
        var destination = destination ?? Destination()
        if destination.path == nil, destination.directory == nil {
            destination.directory =
                session.configuration.directory ?? configuration.downloadDirectory ?? files.ownFolder(of: owner)
            destination.isDefault = true
        }
        return destination
    }
}

// MARK: - Update

/// Checks a changed task as `task.add` would.
extension Admission {
    /// - Parameter spec: the specification with the change.
    /// - Throws: `request.*`, `source.unreadable`, `permission.denied`.
    func check(_ spec: TaskSpec, changedBy change: UpdateTask, of record: TaskRecord) async throws {
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
