import NIOConcurrencyHelpers

/// Counts the open connections and the memory they share.
final class ConnectionRegistry: Sendable {
    private struct State {
        var connections: [Int: RPCConnection] = [:]
        var perUser: [UInt32: Int] = [:]
        var borrowed = 0
        var nextID = 0
    }

    let limits: RPCLimits
    private let state = NIOLockedValueBox(State())

    init(limits: RPCLimits) { self.limits = limits }

    var count: Int { state.withLockedValue { $0.connections.count } }
    var all: [RPCConnection] { state.withLockedValue { Array($0.connections.values) } }

    func nextID() -> Int {
        state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
    }

    /// Adds the connection, or says why not.
    func add(_ connection: RPCConnection) -> RPCError? {
        state.withLockedValue { state in
            let uid = connection.peer.uid
            guard state.connections.count < limits.connections else {
                return .limitReached("The daemon serves at most \(limits.connections) connections; close some.")
            }
            let isExempt = uid == 0 && !limits.limitsRoot
            guard isExempt || state.perUser[uid, default: 0] < limits.connectionsPerUser else {
                return .limitReached("One user has at most \(limits.connectionsPerUser) connections; close some.")
            }
            state.connections[connection.id] = connection
            state.perUser[uid, default: 0] += 1
            return nil
        }
    }

    func remove(_ connection: RPCConnection) {
        state.withLockedValue { state in
            guard state.connections.removeValue(forKey: connection.id) != nil else { return }
            let left = state.perUser[connection.peer.uid, default: 1] - 1
            state.perUser[connection.peer.uid] = left > 0 ? left : nil
        }
    }

    func borrow(_ bytes: Int) -> Bool {
        state.withLockedValue { state in
            guard state.borrowed + bytes <= limits.unfinishedLines else { return false }
            state.borrowed += bytes
            return true
        }
    }

    func repay(_ bytes: Int) { state.withLockedValue { $0.borrowed -= bytes } }
}
