import FoundationEssentials
import TransferClient
import TransferModel
import TransferRPC

/// What commands need of a daemon. The client implements it, and tests script it.
protocol DaemonCalling: Sendable {
    func call<M: RPCMethod>(_ method: M, _ parameters: M.Parameters) async throws -> M.Result
    func follow(
        _ parameters: Subscribe
    ) async throws -> (head: SequenceNumber, events: AsyncThrowingStream<EventView, any Error>)
    func close() async
    /// The socket of the connection.
    var socketPath: String { get }
}

extension DaemonCalling {
    /// The number of the newest event.
    func head() async throws -> SequenceNumber {
        try await call(Methods.listEvents, ListEvents(after: .now, limit: 1)).head
    }

    /// Checks that the session exists. The list of a misspelt session would be empty, as if there were nothing to do.
    /// - Throws: `session.not_found`.
    func requireSession(_ name: String) async throws {
        _ = try await call(Methods.getSession, SessionReference(id: name))
    }
}

extension DaemonClient: DaemonCalling {
    func follow(
        _ parameters: Subscribe
    ) async throws -> (head: SequenceNumber, events: AsyncThrowingStream<EventView, any Error>) {
        let subscription = try await subscribe(parameters)
        return (subscription.head, subscription.events)
    }
}
