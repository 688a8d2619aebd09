import CLinux
import Glibc
import Threading

/// Carries messages to the reactor thread in batches: one eventfd signal for all that gather before it looks.
final class Mailbox<Message: Sendable>: Sendable {
    let fileDescriptor: Int32
    private let messages = Guarded<[Message]>([])

    init?() {
        fileDescriptor = dld_eventfd_create()
        guard fileDescriptor >= 0 else { return nil }
    }

    deinit { close(fileDescriptor) }

    func post(_ message: Message) {
        let first = messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        if first { dld_eventfd_signal(fileDescriptor) }
    }

    /// Exchanges `batch` (emptied first) for what has gathered; both arrays keep their capacity.
    func collect(into batch: inout [Message]) {
        batch.removeAll(keepingCapacity: true)
        messages.withLock { swap(&$0, &batch) }
    }
}
