import Dispatch
import Glibc
import Synchronization

/// Turns signals into values of a stream, so that one loop gets key presses, resizes and events in order.
///
/// The handler of the signals only writes their numbers to a pipe (signal-safety(7)). Sources of Dispatch would not do:
/// they catch no signal again whose default action was restored.
struct Signals {
    /// The end of the pipe of the newest `Signals`, for the handler.
    private static let pipe = Atomic<Int32>(-1)

    private let before: [(number: Int32, action: sigaction)]
    private let outer: Int32
    private let source: any DispatchSourceRead

    /// Calls `handler` on its own queue for each of `numbers`, in place of what they did before.
    init(_ numbers: [Int32], handler: @escaping @Sendable (Int32) -> Void) {
        var ends: [Int32] = [-1, -1]
        // Without descriptors, the program has had no connection either.
        _ = Glibc.pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let (reading, writing) = (ends[0], ends[1])
        source = DispatchSource.makeReadSource(fileDescriptor: reading, queue: DispatchQueue(label: "dlctl.signals"))
        source.setEventHandler {
            var number: UInt8 = 0
            while read(reading, &number, 1) == 1 { handler(Int32(number)) }
        }
        source.setCancelHandler {
            close(reading)
            close(writing)
        }
        source.resume()
        outer = Self.pipe.exchange(writing, ordering: .acquiringAndReleasing)
        before = numbers.map { number in
            var (action, old) = (sigaction(), sigaction())
            action.__sigaction_handler.sa_handler = { number in
                let code = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(Signals.pipe.load(ordering: .acquiring), &byte, 1)
                errno = code
            }
            action.sa_flags = SA_RESTART
            sigaction(number, &action, &old)
            return (number, old)
        }
    }

    /// Restores what the signals did before.
    func cancel() {
        for known in before {
            var action = known.action
            sigaction(known.number, &action, nil)
        }
        Self.pipe.store(outer, ordering: .releasing)
        source.cancel()
    }
}
