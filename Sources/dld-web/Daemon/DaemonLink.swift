import FoundationEssentials
import JSONRPC
import Logging
import NIOConcurrencyHelpers
import TransferClient
import TransferModel
import TransferRPC

/// The connections to dld: one for events, and a few for calls, whatever the number of pages. It looks for dld as long as
/// it is away, and never starts it.
final class DaemonLink: Sendable {
    /// Why a call has no result.
    enum Failure: Error, Sendable {
        /// The JSON text of the `error` object.
        case refused([UInt8])
        /// Nothing was sent, or dld went away before it answered.
        case away
    }

    /// What follows the daemon.
    protocol Follower: AnyObject, Sendable {
        /// A connection for events is there. Runs before the first event.
        func came(_ connection: RPCClientConnection) async throws
        /// A notification of that connection, in order.
        func notified(_ method: String, _ parameters: [UInt8])
        func went()
    }

    private struct State {
        var isUp = false
        var calls: [RPCClientConnection] = []
        var next = 0
    }

    private static let callConnections = 4
    private static let firstPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(2)

    private let sockets: [String]
    private let logger: Logger
    private let state = NIOLockedValueBox(State())

    init(sockets: [String], logger: Logger) { (self.sockets, self.logger) = (sockets, logger) }

    var isUp: Bool { state.withLockedValue { $0.isUp } }

    /// Follows the daemon until the task is cancelled.
    func follow(_ follower: any Follower) async {
        var pause = Self.firstPause
        while !Task.isCancelled {
            let (ends, end) = AsyncStream<Void>.makeStream()
            if let connection = await connect(notified: { follower.notified($0, $1) }, closed: { end.finish() }) {
                do {
                    try await follower.came(connection)
                    state.withLockedValue { $0.isUp = true }
                    logger.info("dld answers")
                    pause = Self.firstPause
                    for await _ in ends {}
                } catch {
                    logger.debug("dld refuses", metadata: ["error": "\(error)"])
                }
                let wasUp = state.withLockedValue { state in
                    defer { state.isUp = false }
                    return state.isUp
                }
                await connection.close()
                follower.went()
                if wasUp, !Task.isCancelled { logger.notice("dld is away; trying again") }
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// - Parameter parameters: the JSON text of an object.
    /// - Returns: the JSON text of the result.
    func call(_ method: String, _ parameters: [UInt8]) async throws(Failure) -> [UInt8] {
        guard let connection = await callConnection() else { throw .away }
        do throws(RPCClientConnection.Failure) {
            return try await connection.request(method, parameters)
        } catch {
            switch error {
            case .refused(let text): throw .refused(text)
            case .connectionLost:
                state.withLockedValue { $0.calls.removeAll { $0 === connection } }
                throw .away
            }
        }
    }

    /// The typed form.
    /// - Throws: `TransferError` of a refusal, and `Failure.away`.
    func call<M: RPCMethod>(_ method: M, _ parameters: M.Parameters) async throws -> M.Result {
        do {
            return try JSONCoding.decode(
                M.Result.self, from: try await call(method.name, JSONCoding.encode(parameters)), lenient: true)
        } catch Failure.refused(let text) {
            throw TransferError(answer: text)
        }
    }

    /// The same with values, for callers that make their parameters as they go.
    /// - Throws: `TransferError`, also if dld is away.
    func value(_ method: String, _ parameters: JSONValue) async throws(TransferError) -> JSONValue {
        do throws(Failure) {
            let answer = try await call(method, JSONCoding.encode(parameters))
            return (try? JSONCoding.decode(JSONValue.self, from: answer, lenient: true)) ?? .null
        } catch {
            switch error {
            case .refused(let text): throw TransferError(answer: text)
            case .away: throw TransferError(.shuttingDown, "dld does not answer; try again.")
            }
        }
    }

    func close() async {
        let calls = state.withLockedValue { state in
            defer { state.calls = [] }
            return state.calls
        }
        for connection in calls { await connection.close() }
    }

    /// The connections take turns, so that a long answer delays few others.
    private func callConnection() async -> RPCClientConnection? {
        let ready = state.withLockedValue { state -> RPCClientConnection? in
            guard state.calls.count >= Self.callConnections else { return nil }
            state.next = (state.next + 1) % state.calls.count
            return state.calls[state.next]
        }
        if let ready { return ready }
        let dead = NIOLockedValueBox<RPCClientConnection?>(nil)
        let made = await connect(notified: { _, _ in }) { [state] in
            guard let dead = dead.withLockedValue({ $0 }) else { return }
            state.withLockedValue { $0.calls.removeAll { $0 === dead } }
        }
        guard let made else { return nil }
        dead.withLockedValue { $0 = made }
        let isKept = state.withLockedValue { state in
            guard state.calls.count < Self.callConnections else { return false }
            state.calls.append(made)
            return true
        }
        guard !isKept else { return made }
        await made.close()
        return state.withLockedValue { $0.calls.first }
    }

    private func connect(
        notified: @escaping @Sendable (String, [UInt8]) -> Void, closed: @escaping @Sendable () -> Void
    ) async -> RPCClientConnection? {
        for socket in sockets {
            let connection = try? await RPCClientConnection.connect(to: socket, notified: notified) { _ in closed() }
            if let connection { return connection }
        }
        return nil
    }
}
