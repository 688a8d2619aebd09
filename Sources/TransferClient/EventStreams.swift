import NIOConcurrencyHelpers
import TransferModel
import TransferRPC

/// Routes `event` notifications to the streams of their subscriptions.
final class EventStreams: Sendable {
    typealias Continuation = AsyncThrowingStream<EventView, any Error>.Continuation

    private struct State {
        var open: [String: Continuation] = [:]
        var end: Result<Void, any Error>?
    }

    private let state = NIOLockedValueBox(State())

    func open(_ subscription: String, _ continuation: Continuation) {
        let end = state.withLockedValue { state in
            if state.end == nil { state.open[subscription] = continuation }
            return state.end
        }
        if let end { Self.end(continuation, end) }
    }

    /// Gives an event to its stream; types of a newer daemon that this client cannot name are passed over.
    func received(_ parameters: [UInt8]) {
        guard let event = try? WireCoding.decode(EventView.self, from: parameters), let name = event.subscription
        else { return }
        state.withLockedValue { $0.open[name] }?.yield(event)
    }

    func forget(_ subscription: String) {
        _ = state.withLockedValue { $0.open.removeValue(forKey: subscription) }
    }

    func close(_ subscription: String) {
        state.withLockedValue { $0.open.removeValue(forKey: subscription) }?.finish()
    }

    /// Ends all streams, also those opened later.
    func finish(throwing error: (any Error)?) {
        let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
        let open = state.withLockedValue { state in
            if state.end == nil { state.end = end }
            defer { state.open = [:] }
            return state.open
        }
        for continuation in open.values { Self.end(continuation, end) }
    }

    private static func end(_ continuation: Continuation, _ end: Result<Void, any Error>) {
        switch end {
        case .success: continuation.finish()
        case .failure(let error): continuation.finish(throwing: error)
        }
    }
}
