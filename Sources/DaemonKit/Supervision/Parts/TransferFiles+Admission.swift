import CurlEngine
import FileKit
import Glibc
import TransferCore
import TransferModel

/// What is looked at when a task is added.
extension TransferFiles {
    /// - Parameter url: with a scheme that dld does not know.
    /// - Throws: `request.bad_url` if no helper serves it.
    func requireHelper(for url: ParsedURL) async throws(TransferError) {
        guard let helpers else { throw URLRules.unknown(scheme: url.schemeName) }
        try await pool.run { () throws(TransferError) in _ = try helpers.program(of: url.schemeName) }
    }

    /// Creates what is missing of the destinations' folders and looks at what is there: one visit for neighbours that share
    /// their folder.
    /// - Returns: the device of each, in order; ends with the first refusal.
    func admit(_ plans: [DestinationPlan], owner: UserID) async -> [Result<UInt64, TransferError>] {
        var looks: [Result<UInt64, TransferError>] = []
        looks.reserveCapacity(plans.count)
        var start = 0
        while start < plans.count {
            let path = plans[start].folder
            let end = plans[start...].firstIndex { $0.folder != path } ?? plans.count
            let neighbours = plans[start..<end]
            let seen = await opening(path) { [access] in Self.admit(neighbours, access, owner) }
            looks += seen
            if case .failure? = seen.last { return looks }
            start = end
        }
        return looks
    }

    /// - Parameter field: what names the folder.
    /// - Returns: its device; it is made where it is missing.
    /// - Throws: `destination.*`, `permission.denied`, `disk.*`, each with its field.
    func admit(_ plan: DestinationPlan, owner: UserID, field: String) async throws -> UInt64 {
        do {
            guard let look = await admit([plan], owner: owner).first else {
                throw TransferError(.internal, "A destination was not checked; please report it.")
            }
            return try look.get()
        } catch let error as TransferError where error.details["field"] == nil {
            throw TransferError(
                error.code, "\(field): \(error.message)",
                details: error.details.merging(["field": .string(field)]) { $1 })
        }
    }

    private static func admit(
        _ plans: ArraySlice<DestinationPlan>, _ access: FileAccess, _ owner: UserID
    ) -> [Result<UInt64, TransferError>] {
        var looks: [Result<UInt64, TransferError>] = []
        looks.reserveCapacity(plans.count)
        var known: Folder?
        for plan in plans {
            do throws(TransferError) {
                let folder = try plan.admit(access, owner: owner, known: known)
                known = folder
                looks.append(.success(folder.device))
            } catch {
                looks.append(.failure(error))
                break
            }
        }
        return looks
    }

    /// Refuses local files that the owner may not read, by the field that names them.
    func checkReadable(_ files: [(field: String, path: String)], owner: UserID) async throws {
        for file in files {
            try await opening(file.path) { [access] in
                do throws(TransferError) {
                    _ = try access.openForReading(file.path, owner: owner)
                } catch {
                    throw error.naming(file.field)
                }
            }
        }
    }

    /// Refuses a certificate that cannot be shown: its key is missing, is another's, or is not opened by the pass phrase.
    /// - Parameter field: that holds it.
    func check(_ client: ClientCertificate, field: String, owner: UserID) async throws {
        let certificate = try await content(client.certificate, field: "\(field).certificate", owner: owner)
        var key: [UInt8]?
        if let path = client.key { key = try await content(path, field: "\(field).key", owner: owner) }
        guard let fault = CertificateCheck(certificate, key: key, password: client.password).fault else { return }
        throw TransferError(
            .badField, "\(field).\(fault.field.rawValue): \(fault.sentence)",
            details: ["field": .string("\(field).\(fault.field.rawValue)")])
    }

    private func content(_ path: String, field: String, owner: UserID) async throws -> [UInt8] {
        try await opening(path) { [access] in
            do throws(TransferError) {
                return try PinnedFiles.read(path, access, owner)
            } catch {
                throw error.naming(field)
            }
        }
    }

    /// Refuses a program that the daemon's user could not start.
    func checkExecutable(_ path: String, field: String) async throws {
        try await opening(path) {
            var info = stat()
            let isFile = stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
            guard isFile, Glibc.access(path, X_OK) == 0 else {
                let fault = isFile ? "is not executable: run chmod +x on it" : "is not a file"
                throw TransferError(
                    .badField, "\(field): \(path) \(fault), or name another program.",
                    details: ["field": .string(field)])
            }
        }
    }

    /// A body that is small enough is copied, so that its file may go; a larger one is only looked at.
    /// - Parameter field: that names it.
    func admitBody(
        _ path: String, field: String, owner: UserID, copyingUpTo limit: ByteCount
    ) async throws -> AdmittedBody {
        try await opening(path) { [access] in
            let sending = try Self.look(at: path, field: field, access, owner)
            guard sending.identity.size <= limit else { return .referenced(sending.identity) }
            var content: [UInt8] = []
            try readAll(
                of: sending.file.fileDescriptor, path: path, length: limit + ByteCount(1), isCancelled: { false }
            ) { content.append(contentsOf: $0) }
            guard ByteCount(Int64(content.count)) == sending.identity.size,
                sending.file.identityNow() == sending.identity
            else { throw TransferError(.sourceChanged, "\(path) is being written to; add it when it is complete.") }
            return .copied(content)
        }
    }

    /// The file that an upload sends, as it is now.
    func admitSource(_ path: String, field: String, owner: UserID) async throws -> SourceIdentity {
        try await opening(path) { [access] in try Self.look(at: path, field: field, access, owner).identity }
    }

    /// The file that a task was added with, under the same rules: the content of one that the store keeps, if it is
    /// still short.
    func fresh(_ path: String, of record: TaskRecord, copyingUpTo limit: ByteCount) async throws -> FreshSource {
        let owner = record.session.owner
        guard record.source?.isKept ?? false else {
            return FreshSource(identity: try await admitSource(path, field: "source.path", owner: owner))
        }
        switch try await admitBody(path, field: "body.file", owner: owner, copyingUpTo: limit) {
        case .copied(let content):
            return FreshSource(identity: .kept(ByteCount(Int64(content.count))), content: content)
        case .referenced(let identity): return FreshSource(identity: identity)
        }
    }

    private static func look(
        at path: String, field: String, _ access: FileAccess, _ owner: UserID
    ) throws(TransferError) -> SendingFile {
        do throws(TransferError) {
            return try SendingFile.open(path, as: nil, access, owner: owner)
        } catch {
            throw error.naming(field)
        }
    }

    /// What resume data names, looked at: the checkpoint of a part that this owner may continue, or nil.
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
    /// What the store is to keep of it.
    var content: [UInt8]?
}

/// What became of a file that is a request's body.
enum AdmittedBody: Sendable {
    case copied([UInt8])
    case referenced(SourceIdentity)
}

extension TransferError {
    /// The same of a field of the request.
    fileprivate func naming(_ field: String) -> TransferError {
        TransferError(
            code, "\(field): \(message)", details: details.merging(["field": .string(field)]) { old, _ in old })
    }
}
