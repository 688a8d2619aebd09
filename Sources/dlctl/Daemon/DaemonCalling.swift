import FoundationEssentials
import TransferClient
import TransferModel
import TransferRPC

/// What commands need of a daemon; the client has it, and tests script it.
protocol DaemonCalling: Sendable {
    func call<M: RPCMethod>(_ method: M.Type, _ parameters: M.Parameters) async throws -> M.Result
    func follow(
        _ parameters: Subscribe.Parameters
    ) async throws -> (head: SequenceNumber, events: AsyncThrowingStream<EventView, any Error>)
    func close() async
    /// Where it was reached.
    var socketPath: String { get }
}

extension DaemonCalling {
    /// A list of the tasks of a misspelt session is empty, and looks as if there were nothing to do.
    /// - Throws: `session.not_found`.
    func requireSession(_ name: String) async throws {
        _ = try await call(GetSession.self, SessionReference(id: name))
    }
}

extension DaemonClient: DaemonCalling {
    func follow(
        _ parameters: Subscribe.Parameters
    ) async throws -> (head: SequenceNumber, events: AsyncThrowingStream<EventView, any Error>) {
        let subscription = try await subscribe(parameters)
        return (subscription.head, subscription.events)
    }
}
