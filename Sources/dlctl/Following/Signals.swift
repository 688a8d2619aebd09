import Dispatch
import Glibc

/// Turns signals into values of a stream, so that one loop gets key presses, resizes and events in order.
struct Signals {
    private let numbers: [Int32]
    private let sources: [any DispatchSourceSignal]
    private let cancellation: DispatchGroup

    /// Calls `handler` on its own queue for each of `numbers`, in place of their default actions.
    init(_ numbers: [Int32], handler: @escaping @Sendable (Int32) -> Void) {
        self.numbers = numbers
        let queue = DispatchQueue(label: "dlctl.signals")
        let registration = DispatchGroup()
        let cancellation = DispatchGroup()
        sources = numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { handler(number) }
            registration.enter()
            source.setRegistrationHandler { registration.leave() }
            cancellation.enter()
            source.setCancelHandler { cancellation.leave() }
            source.resume()
            return source
        }
        self.cancellation = cancellation
        // Dispatch catches a signal from its registration on.
        registration.wait()
    }

    /// Restores the default actions of the signals. Not from the handler.
    func cancel() {
        sources.forEach { $0.cancel() }
        // The next registration of a signal catches it only if the last one has ended.
        cancellation.wait()
        for number in numbers { signal(number, SIG_DFL) }
        // Dispatch blocks a signal in each thread that has got it once.
        var caught = sigset_t()
        sigemptyset(&caught)
        for number in numbers { sigaddset(&caught, number) }
        pthread_sigmask(SIG_UNBLOCK, &caught, nil)
    }
}
