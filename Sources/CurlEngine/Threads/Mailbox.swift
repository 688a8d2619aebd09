import CLinux
import Glibc
import Threading

/// Carries messages to the reactor thread in batches: one eventfd signal for all that gather before it looks.
final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isClosed = false
    }

    let fileDescriptor: Int32
    private let state = Guarded(State())

    init?() {
        fileDescriptor = dld_eventfd_create()
        guard fileDescriptor >= 0 else { return nil }
    }

    deinit { close(fileDescriptor) }

    /// Returns false if it is closed: nobody will collect the message.
    @discardableResult
    func post(_ message: Message) -> Bool {
        let (isTaken, isFirst) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.messages.append(message)
            return (true, state.messages.count == 1)
        }
        if isFirst { dld_eventfd_signal(fileDescriptor) }
        return isTaken
    }

    /// Exchanges `batch` (emptied first) for the gathered messages; both arrays keep their capacity.
    func collect(into batch: inout [Message]) {
        batch.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.messages, &batch) }
    }

    /// Closes the mailbox; returns the messages that nobody has collected.
    func closeAndCollect() -> [Message] {
        state.withLock { state in
            defer { state = State(messages: [], isClosed: true) }
            return state.messages
        }
    }
}
