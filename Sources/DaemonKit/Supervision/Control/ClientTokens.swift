import FileKit
import TransferModel
import TransferRPC
import TransferStore

/// What the client tokens of one owner have added. For a day, the same token with the same specification means the same
/// task, whatever has become of that task, and adds nothing.
struct ClientTokens: Sendable {
    let owner: UserID
    let now: Timestamp
    /// The digests of one call's tasks, by their positions in it. Tasks without a token have none.
    let digests: [Int: [UInt8]]

    /// In seconds.
    static let lifetime: Double = 86400

    /// - Parameter specs: the specifications as the client sent them. Later changes by the daemon do not count.
    /// - Throws: `request.token_reused` if two specifications have the same token but differ.
    init(_ specs: [TaskSpec], of key: SessionKey, now: Timestamp) throws {
        owner = key.owner
        self.now = now
        var digests: [Int: [UInt8]] = [:]
        var places: [String: Int] = [:]
        for (place, spec) in specs.enumerated() {
            guard let token = spec.clientToken else { continue }
            digests[place] = try Self.digest(of: spec, session: key.identifier)
            let first = places[token] ?? place
            places[token] = first
            guard digests[place] == digests[first] else {
                throw Self.reused(place, "tasks[\(first)] has it too, with another specification", task: nil)
            }
        }
        self.digests = digests
    }

    /// The digest of a specification and its session.
    static func digest(of spec: TaskSpec, session: String) throws -> [UInt8] {
        let digest = try FileHasher.digest(
            .sha256, of: JSONCoding.canonical([session]), JSONCoding.canonical(spec))
        return Array(digest.prefix(ClientTokenUse.digestLength))
    }

    /// Returns the task that the token has added before; nil if there is none.
    /// - Parameter place: the task's position in the call.
    /// - Throws: `request.token_reused` if the token has added something else.
    func task(_ token: String, at place: Int, in snapshot: StoreSnapshot) throws -> AddedTask? {
        let horizon = now.advanced(by: Seconds(-Self.lifetime))
        guard let use = try snapshot.use(ofToken: token, owner: owner, notBefore: horizon) else { return nil }
        if let known = use.digest, let asked = digests[place], known != asked {
            throw Self.reused(place, "it added task \(use.task), with another specification", task: use.task)
        }
        return AddedTask(id: use.task, state: use.state, existing: true, removed: use.isRemoved ? true : nil)
    }

    /// Returns the tasks of a call that were added before, by their positions in it.
    /// - Throws: `request.token_reused`.
    func tasks(of specs: [TaskSpec], in snapshot: StoreSnapshot) throws -> [Int: AddedTask] {
        var tasks: [Int: AddedTask] = [:]
        for (place, spec) in specs.enumerated() {
            guard let token = spec.clientToken else { continue }
            tasks[place] = try task(token, at: place, in: snapshot)
        }
        return tasks
    }

    private static func reused(_ place: Int, _ why: String, task: TaskID?) -> TransferError {
        let field = "tasks[\(place)].clientToken"
        var details: [String: JSONValue] = ["field": .string(field)]
        details["task"] = task.map { .integer($0.rawValue) }
        return TransferError(
            .tokenReused, "\(field): \(why). Send the first specification again, or use a new token.",
            details: details)
    }
}
