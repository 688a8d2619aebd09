import CurlEngine
import FileKit
import Glibc
import TransferCore
import TransferModel

/// The checks when a task is added.
extension TransferFiles {
    /// - Parameter url: a URL whose scheme dld does not know.
    /// - Throws: `request.bad_url` if no helper serves it.
    func requireHelper(for url: ParsedURL) async throws(TransferError) {
        guard let helpers else { throw URLRules.unknown(scheme: url.schemeName) }
        try await pool.run { () throws(TransferError) in _ = try helpers.program(of: url.schemeName) }
    }

    /// Creates missing folders of the destinations and checks existing ones. Neighbours that share their folder are
    /// checked once.
    /// - Returns: the device of each, in order. The list ends with the first refusal.
    func admit(_ plans: [DestinationPlan], owner: UserID) async -> [Result<UInt64, TransferError>] {
        var looks: [Result<UInt64, TransferError>] = []
        looks.reserveCapacity(plans.count)
        var start = 0
        while start < plans.count {
            let path = plans[start].folder
            let end = plans[start...].firstIndex { $0.folder != path } ?? plans.count
            let neighbours = plans[start..<end]
            let seen = await opening(path) { [access] in
                DestinationPlan.admit(neighbours, access, owner: owner)
            }
            looks += seen
            if case .failure? = seen.last { return looks }
            start = end
        }
        return looks
    }

    /// - Parameter field: the field that names the folder.
    /// - Returns: the folder's device. A missing folder is created.
    /// - Throws: `destination.*`, `permission.denied`, `disk.*`, each with its field.
    func admit(_ plan: DestinationPlan, owner: UserID, field: String) async throws -> UInt64 {
        do {
            guard let look = await admit([plan], owner: owner).first else {
                throw TransferError(.internal, "A destination was not checked; please report it.")
            }
            return try look.get()
        } catch let error as TransferError where error.details["field"] == nil {
            throw error.naming(field)
        }
    }

    /// Refuses local files that the owner may not read, and names the field at fault.
    func checkReadable(_ files: [(field: String, path: String)], owner: UserID) async throws {
        for file in files {
            try await opening(file.path) { [access] in
                _ = try naming(file.field) { () throws(TransferError) in
                    try access.openForReading(file.path, owner: owner)
                }
            }
        }
    }

    /// Refuses an unusable certificate: its key is missing, does not match, or cannot be opened with the pass phrase.
    /// - Parameter field: the field that contains it.
    func check(_ client: ClientCertificate, field: String, owner: UserID) async throws {
        let certificate = try await content(client.certificate, field: "\(field).certificate", owner: owner)
        var key: [UInt8]?
        if let path = client.key { key = try await content(path, field: "\(field).key", owner: owner) }
        guard let fault = CertificateCheck(certificate, key: key, password: client.password).fault else { return }
        throw TransferError.bad("\(field).\(fault.field.rawValue)", fault.sentence)
    }

    private func content(_ path: String, field: String, owner: UserID) async throws -> [UInt8] {
        try await opening(path) { [access] in
            try naming(field) { () throws(TransferError) in try PinnedFiles.read(path, access, owner) }
        }
    }

    /// Refuses a program that the daemon's user could not start.
    func checkExecutable(_ path: String, field: String) async throws {
        try await opening(path) {
            var info = stat()
            let isFile = stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
            guard isFile, Glibc.access(path, X_OK) == 0 else {
                let fault = isFile ? "is not executable: run chmod +x on it, or" : "is not a file:"
                throw TransferError.bad(field, "\(path) \(fault) name another program.")
            }
        }
    }

    /// Copies a small body, so that its file may be removed. A larger body is only checked.
    /// - Parameter field: the field that names the file.
    func admitBody(
        _ path: String, field: String, owner: UserID, copyingUpTo limit: ByteCount
    ) async throws -> FreshSource {
        try await opening(path) { [access] in
            let sending = try Self.look(at: path, field: field, access, owner)
            guard sending.identity.size <= limit else { return FreshSource(identity: sending.identity) }
            var content: [UInt8] = []
            try readAll(
                of: sending.file.fileDescriptor, path: path, length: limit + ByteCount(1), isCancelled: { false }
            ) { content.append(contentsOf: $0) }
            guard ByteCount(Int64(content.count)) == sending.identity.size,
                sending.file.identityNow() == sending.identity
            else { throw TransferError(.sourceChanged, "\(path) is being written to; add it when it is complete.") }
            return FreshSource(identity: .kept(sending.identity.size), content: content)
        }
    }

    /// Returns the identity of the file that an upload sends, as it is now.
    func admitSource(_ path: String, field: String, owner: UserID) async throws -> SourceIdentity {
        try await opening(path) { [access] in try Self.look(at: path, field: field, access, owner).identity }
    }

    /// Returns the file that a task was added with, as it is now and under the same rules. If the store keeps its
    /// content, the content is copied again, provided that it is still short.
    func fresh(_ path: String, of record: TaskRecord, copyingUpTo limit: ByteCount) async throws -> FreshSource {
        let owner = record.session.owner
        guard record.source?.isKept ?? false else {
            return FreshSource(identity: try await admitSource(path, field: "source.path", owner: owner))
        }
        return try await admitBody(path, field: "body.file", owner: owner, copyingUpTo: limit)
    }

    private static func look(
        at path: String, field: String, _ access: FileAccess, _ owner: UserID
    ) throws(TransferError) -> SendingFile {
        try naming(field) { () throws(TransferError) in
            try SendingFile.open(path, as: nil, access, owner: owner)
        }
    }

    /// Checks resume data. Returns the checkpoint of a part file that this owner may continue, or nil.
    func checked(_ resumeData: ResumeData, owner: UserID) async throws -> Checkpoint? {
        let plan = try DestinationPlan(resumeData.destination)
        return try await opening(plan.folder) { [access] () throws(TransferError) in
            try resumeData.claimablePart(plan: plan, access: access, owner: owner)
        }
    }
}

/// The file that a task sends, as it is now.
struct FreshSource: Sendable {
    var identity: SourceIdentity
    /// The content that the store must keep.
    var content: [UInt8]?
}

/// Runs `body`. An error names the field of the request that is at fault.
private func naming<T>(_ field: String, _ body: () throws(TransferError) -> T) throws(TransferError) -> T {
    do throws(TransferError) {
        return try body()
    } catch {
        throw error.naming(field)
    }
}

extension TransferError {
    /// The same error, with the field of the request that is at fault.
    fileprivate func naming(_ field: String) -> TransferError {
        TransferError(
            code, "\(field): \(message)", details: details.merging(["field": .string(field)]) { old, _ in old })
    }
}
