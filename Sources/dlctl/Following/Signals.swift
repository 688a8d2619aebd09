import Dispatch
import Glibc

/// Turns signals into values of a stream, so that one loop sees key presses, resizes and events in order.
struct Signals {
    private let numbers: [Int32]
    private let sources: [any DispatchSourceSignal]

    /// Calls `handler` on a queue of its own for each of `numbers`; their default actions are off from then on.
    init(_ numbers: [Int32], handler: @escaping @Sendable (Int32) -> Void) {
        self.numbers = numbers
        let queue = DispatchQueue(label: "dlctl.signals")
        // Until a source is registered its signal is ignored: one that comes then would be lost.
        let registration = DispatchGroup()
        sources = numbers.map { number in
            // SIGWINCH and SIGCONT must not be ignored for their effect, only observed.
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

    /// Gives the signals their default actions back.
    func cancel() {
        sources.forEach { $0.cancel() }
        for number in numbers { signal(number, SIG_DFL) }
    }
}
