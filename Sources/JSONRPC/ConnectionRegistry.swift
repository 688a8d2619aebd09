import NIOConcurrencyHelpers

/// Counts the open connections and the memory that they share.
final class ConnectionRegistry: Sendable {
    private struct State {
        var connections: [Int: RPCConnection] = [:]
        var perUser: [UInt32: Int] = [:]
        var borrowed = 0
        var borrowedByUser: [UInt32: Int] = [:]
        /// Bytes of answers and events that wait for a user's clients.
        var owedByUser: [UInt32: Int] = [:]
        var nextID = 0
        var farewells = 0
        var long: LongRequests
    }

    /// The most refused connections that stay open at a time until their clients have read the reason.
    private static let mostFarewells = 64

    let limits: RPCLimits
    private let state: NIOLockedValueBox<State>

    init(limits: RPCLimits) {
        self.limits = limits
        let long = LongRequests(limit: limits.longRequests, limitsRoot: limits.limitsRoot)
        state = NIOLockedValueBox(State(long: long))
    }

    var count: Int { state.withLockedValue { $0.connections.count } }
    var all: [RPCConnection] { state.withLockedValue { Array($0.connections.values) } }

    func nextID() -> Int {
        state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
    }

    /// Adds the connection, or returns why it is refused.
    func add(_ connection: RPCConnection) -> RPCError? {
        state.withLockedValue { state in
            let uid = connection.peer.uid
            let (free, own) = (limits.connections - state.connections.count, state.perUser[uid, default: 0])
            guard free > 0 else {
                return .limitReached("The daemon serves at most \(limits.connections) connections; close some.")
            }
            guard isExempt(uid) || own < limits.connectionsPerUser else {
                return .limitReached("One user has at most \(limits.connectionsPerUser) connections; close some.")
            }
            guard isExempt(uid) || Self.hasRoom(for: own, of: state.connections.count, limit: limits.connections) else {
                return .limitReached("Only \(free) connections are left for others, and you have \(own); close some.")
            }
            state.connections[connection.id] = connection
            state.perUser[uid, default: 0] += 1
            return nil
        }
    }

    /// Tells whether a user with `own` of all connections may have one more. A user with many leaves some to others, and
    /// all users leave some to root.
    static func hasRoom(for own: Int, of all: Int, limit: Int) -> Bool {
        let left = limit - limit / 16 - all
        return left > 0 && (all == own || own <= left)
    }

    func remove(_ connection: RPCConnection) {
        state.withLockedValue { state in
            guard state.connections.removeValue(forKey: connection.id) != nil else { return }
            let left = state.perUser[connection.peer.uid, default: 1] - 1
            state.perUser[connection.peer.uid] = left > 0 ? left : nil
        }
    }

    /// Tells whether the connection may answer a long request now. Otherwise `goOn` tells it later.
    func beginLong(_ connection: RPCConnection) -> Bool {
        state.withLockedValue { $0.long.take(connection.id, of: connection.peer.uid) }
    }

    /// Ends its long request, which is answered or not wanted any more.
    func endLong(_ connection: RPCConnection) {
        let next = state.withLockedValue { state in
            state.long.release(connection.id).flatMap { state.connections[$0] }
        }
        next?.goOn()
    }

    /// - Returns: false if the refused connection must be closed at once. Each true needs its `endFarewell`.
    func beginFarewell() -> Bool {
        state.withLockedValue { state in
            guard state.farewells < Self.mostFarewells else { return false }
            state.farewells += 1
            return true
        }
    }

    func endFarewell() { state.withLockedValue { $0.farewells -= 1 } }

    private func isExempt(_ uid: UInt32) -> Bool { uid == 0 && !limits.limitsRoot }

    /// Reserves memory for unfinished lines, within the limit of all connections and the limit of one user.
    func borrow(_ bytes: Int, for uid: UInt32) -> Bool {
        state.withLockedValue { state in
            let own = state.borrowedByUser[uid, default: 0] + bytes
            guard state.borrowed + bytes <= limits.unfinishedLines,
                isExempt(uid) || own <= limits.unfinishedLinesPerUser
            else { return false }
            state.borrowed += bytes
            state.borrowedByUser[uid] = own
            return true
        }
    }

    /// Counts bytes that wait for the user's clients; `bytes` is negative when they no longer do. One call may overtake
    /// another, so a sum may be negative for a moment.
    func owe(_ bytes: Int, to uid: UInt32) {
        guard bytes != 0, !isExempt(uid) else { return }
        state.withLockedValue { state in
            let owed = state.owedByUser[uid, default: 0] + bytes
            state.owedByUser[uid] = owed == 0 ? nil : owed
        }
    }

    /// The user's connections with unread answers begin no further requests.
    func owesMuch(to uid: UInt32) -> Bool { owed(to: uid) > limits.outgoingPerUser }
    /// Requests of the user are refused, and connections with much to read are closed.
    func owesTooMuch(to uid: UInt32) -> Bool { owed(to: uid) > 2 * limits.outgoingPerUser }

    private func owed(to uid: UInt32) -> Int { state.withLockedValue { $0.owedByUser[uid, default: 0] } }

    func repay(_ bytes: Int, of uid: UInt32) {
        guard bytes > 0 else { return }
        state.withLockedValue { state in
            state.borrowed -= bytes
            let left = state.borrowedByUser[uid, default: 0] - bytes
            state.borrowedByUser[uid] = left > 0 ? left : nil
        }
    }
}
