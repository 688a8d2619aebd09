import TransferModel
import TransferStore

/// What one owner's client tokens added: for a day the same token means the same task, and nothing is added.
struct ClientTokens {
    let owner: UserID
    let now: Timestamp

    /// Seconds.
    static let lifetime: Double = 86400

    /// nil where the token has added nothing that is still there.
    func task(_ token: String, in snapshot: StoreSnapshot) throws -> AddedTask? {
        let horizon = now.advanced(by: Seconds(-Self.lifetime))
        guard let id = try snapshot.taskID(clientToken: token, owner: owner, notBefore: horizon),
            let head = try snapshot.heads([id]).first
        else { return nil }
        return AddedTask(id: id, state: head.status.state)
    }

    /// The tasks of a call that were added before, by their places in it.
    func tasks(of specs: [TaskSpec], in snapshot: StoreSnapshot) throws -> [Int: AddedTask] {
        var tasks: [Int: AddedTask] = [:]
        for (index, spec) in specs.enumerated() {
            guard let token = spec.clientToken else { continue }
            tasks[index] = try task(token, in: snapshot)
        }
        return tasks
    }
}
