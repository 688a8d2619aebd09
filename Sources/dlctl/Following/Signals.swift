import Dispatch
import Glibc

/// Turns signals into values of a stream, so that one loop gets key presses, resizes and events in order.
struct Signals {
    private let numbers: [Int32]
    private let sources: [any DispatchSourceSignal]

    /// Calls `handler` on its own queue for each of `numbers`. Their default actions are off from then on.
    init(_ numbers: [Int32], handler: @escaping @Sendable (Int32) -> Void) {
        self.numbers = numbers
        let queue = DispatchQueue(label: "dlctl.signals")
        // Waits for the registration: until then a signal is ignored and would be lost.
        let registration = DispatchGroup()
        sources = numbers.map { number in
            // SIGWINCH and SIGCONT need not be ignored, only observed.
            if number != SIGWINCH && number != SIGCONT { signal(number, SIG_IGN) }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { handler(number) }
            registration.enter()
            source.setRegistrationHandler { registration.leave() }
            source.resume()
            return source
        }
        registration.wait()
    }

    /// Restores the default actions of the signals.
    func cancel() {
        sources.forEach { $0.cancel() }
        for number in numbers { signal(number, SIG_DFL) }
    }
}
