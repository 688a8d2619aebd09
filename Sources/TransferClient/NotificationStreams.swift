import NIOConcurrencyHelpers
import TransferModel
import TransferRPC

/// Passes notifications of one kind to the streams that wait for them: events by their subscription, and pieces of
/// bodies by their task.
final class NotificationStreams<Key: Hashable & Sendable, Element: WireValue>: Sendable {
    typealias Continuation = AsyncThrowingStream<Element, any Error>.Continuation

    private struct State {
        var open: [Key: Continuation] = [:]
        var end: Result<Void, any Error>?
    }

    private let state = NIOLockedValueBox(State())
    private let key: @Sendable (Element) -> Key?

    /// - Parameter key: returns whom a notification is for.
    init(_: Element.Type, by key: @escaping @Sendable (Element) -> Key?) { self.key = key }

    func open(_ name: Key, _ continuation: Continuation) {
        let end = state.withLockedValue { state in
            if state.end == nil { state.open[name] = continuation }
            return state.end
        }
        if let end { Self.end(continuation, end) }
    }

    /// Passes a notification to its stream. Notifications that this client cannot read, such as types of a newer
    /// daemon, are ignored.
    func received(_ parameters: [UInt8]) {
        guard let element = try? JSONCoding.decode(Element.self, from: parameters, lenient: true),
            let name = key(element)
        else { return }
        state.withLockedValue { $0.open[name] }?.yield(element)
    }

    func forget(_ name: Key) {
        _ = state.withLockedValue { $0.open.removeValue(forKey: name) }
    }

    func close(_ name: Key) {
        state.withLockedValue { $0.open.removeValue(forKey: name) }?.finish()
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
