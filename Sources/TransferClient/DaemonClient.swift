import FoundationEssentials
import JSONRPC
import NIOConcurrencyHelpers
import TransferModel
import TransferRPC

/// One connection to a daemon, with typed calls and streams of events. The caller decides about reconnecting.
public final class DaemonClient: Sendable {
    /// The socket of the daemon.
    public let socketPath: String
    private let connection: RPCClientConnection
    private let streams: NotificationStreams<String, EventView>
    private let bodies: NotificationStreams<TaskID, TaskData>
    private let patience: Duration?
    /// Why the connection was given up.
    private let silence = NIOLockedValueBox<ClientError?>(nil)

    private init(
        _ socketPath: String, _ connection: RPCClientConnection,
        _ streams: NotificationStreams<String, EventView>, _ bodies: NotificationStreams<TaskID, TaskData>,
        _ patience: Duration?
    ) {
        self.socketPath = socketPath
        self.connection = connection
        self.streams = streams
        self.bodies = bodies
        self.patience = patience
    }

    /// - Parameter patience: if a call has no answer after this time, and the daemon does not answer another connection
    ///   within half of this time either, the call fails with `ClientError.noAnswer`. A busy daemon is waited for. nil
    ///   means no limit.
    /// - Throws: `ClientError.noDaemon`, also if the path is too long for a socket; `ClientError.notPermitted`.
    public static func connect(to socketPath: String, patience: Duration? = nil) async throws -> DaemonClient {
        try await connect(to: socketPath, patience: patience, notified: nil) {}
    }

    /// - Parameters:
    ///   - notified: gets every notification in place of the streams, in order, on the thread of the connection.
    ///   - closed: called once when the connection has ended.
    package static func connect(
        to socketPath: String, patience: Duration? = nil, notified: (@Sendable (String, [UInt8]) -> Void)?,
        closed: @escaping @Sendable () -> Void
    ) async throws -> DaemonClient {
        let streams = NotificationStreams<String, EventView>(EventView.self) { $0.subscription }
        let bodies = NotificationStreams<TaskID, TaskData>(TaskData.self) { $0.task }
        do {
            _ = try SocketPath(socketPath)
            let connection = try await RPCClientConnection.connect(to: socketPath) { method, parameters in
                if let notified { return notified(method, parameters) }
                switch method {
                case RPCCatalog.eventNotification: streams.received(parameters)
                case RPCCatalog.dataNotification: bodies.received(parameters)
                default: break
                }
            } closed: { reason in
                streams.finish(throwing: ClientError.connectionLost(reason))
                bodies.finish(throwing: ClientError.connectionLost(reason))
                closed()
            }
            return DaemonClient(socketPath, connection, streams, bodies, patience)
        } catch let error as SocketPath.Unusable {
            throw ClientError.noDaemon(socket: socketPath, reason: error.description)
        } catch {
            throw ClientError.connecting(error, to: socketPath)
        }
    }

    /// The user who runs the daemon; nil if the kernel does not tell.
    public var daemonUser: UInt32? { connection.peer?.uid }

    /// Calls a method.
    /// - Throws: the daemon's `TransferError`, or `ClientError`.
    public func call<M: RPCMethod>(_ method: M, _ parameters: M.Parameters) async throws -> M.Result {
        try await send(method, parameters, intercept: nil)
    }

    /// Subscribes to events. The stream ends when it is dropped, after `unsubscribe`, or with a `ClientError` if the
    /// daemon goes away.
    ///
    /// Every event from the daemon is kept until it is read, so keep reading or cancel.
    /// - Throws: the daemon's `TransferError`, or `ClientError`.
    public func subscribe(
        _ parameters: Subscribe
    ) async throws -> (subscription: String, head: SequenceNumber, events: AsyncThrowingStream<EventView, any Error>) {
        let (events, continuation) = AsyncThrowingStream<EventView, any Error>.makeStream()
        let streams = streams
        let result = try await send(Methods.subscribe, parameters) { text in
            // Runs on the event loop before the first event is processed.
            if let answer = try? JSONCoding.decode(Subscribed.self, from: text, lenient: true) {
                streams.open(answer.subscription, continuation)
            }
        }
        continuation.onTermination = { [weak self] termination in
            guard case .cancelled = termination, let self else { return }
            self.streams.forget(result.subscription)
            Task { _ = try? await self.call(Methods.unsubscribe, .init(subscription: result.subscription)) }
        }
        return (result.subscription, result.head, events)
    }

    /// Ends a subscription and its stream.
    /// - Throws: the daemon's `TransferError`, or `ClientError`.
    public func unsubscribe(_ subscription: String) async throws {
        _ = try await call(Methods.unsubscribe, .init(subscription: subscription))
        streams.close(subscription)
    }

    /// The body of a data task with `stream`, in consecutive pieces. Call this before the first credit, and give credit
    /// with `GiveCredit`. Pieces that nobody has read yet are kept, but never more than the credit allows.
    ///
    /// - Returns: a stream that continues until `endBody`, because the task's events tell how the body ended. It also
    ///   ends when it is dropped, or with a `ClientError` if the daemon goes away.
    public func body(of task: TaskID) -> AsyncThrowingStream<TaskData, any Error> {
        let (pieces, continuation) = AsyncThrowingStream<TaskData, any Error>.makeStream()
        let bodies = bodies
        continuation.onTermination = { _ in bodies.forget(task) }
        bodies.open(task, continuation)
        return pieces
    }

    /// Ends the stream of a body after the received pieces.
    public func endBody(of task: TaskID) { bodies.close(task) }

    /// Closes the connection. Open calls fail, and open streams end.
    public func close() async {
        streams.finish(throwing: nil)
        bodies.finish(throwing: nil)
        await connection.close()
    }

    private func send<M: RPCMethod>(
        _ method: M, _ parameters: M.Parameters, intercept: (@Sendable ([UInt8]) -> Void)?
    ) async throws -> M.Result {
        let request = JSONCoding.encode(parameters)
        let watch = patience.map { patience in Task { await self.endAtSilence(of: method.name, patience) } }
        defer { watch?.cancel() }
        let answer: [UInt8]
        do throws(RPCClientConnection.Failure) {
            answer = try await connection.request(method.name, request, intercept: intercept)
        } catch {
            switch error {
            case .connectionLost(let reason):
                throw silence.withLockedValue { $0 } ?? ClientError.connectionLost(reason)
            case .refused(let text): throw TransferError(answer: text)
            }
        }
        do {
            return try JSONCoding.decode(M.Result.self, from: answer, lenient: true)
        } catch {
            throw ClientError.protocolMismatch(method: method.name, reason: error.message)
        }
    }

    /// Gives up the connection if the daemon is silent on another connection too.
    private func endAtSilence(of method: String, _ patience: Duration) async {
        repeat {
            try? await Task.sleep(for: patience)
            if Task.isCancelled { return }
        } while await Self.answers(at: socketPath, within: patience / 2)
        if Task.isCancelled { return }
        let seconds = Int((patience + patience / 2).components.seconds)
        silence.withLockedValue { $0 = .noAnswer(socket: socketPath, method: method, seconds: seconds) }
        await close()
    }

    /// Tells whether a daemon answers there, even with a refusal.
    private static func answers(at socketPath: String, within limit: Duration) async -> Bool {
        guard let other = try? await connect(to: socketPath) else { return false }
        let timer = Task {
            try await Task.sleep(for: limit)
            await other.close()
        }
        defer { timer.cancel() }
        do {
            _ = try await other.call(Methods.daemonInfo, Nothing())
        } catch ClientError.connectionLost {
            return false
        } catch {}
        await other.close()
        return true
    }
}
