import Threading

/// Wakes the listeners that wait for work. The parts of supervision that change something ring it, and do not know who
/// listens.
///
/// Rings that come while a listener is busy are merged into one. After `stop`, no listener is woken for work.
package final class SupervisionSignal: Sendable {
    /// What has changed.
    struct News: OptionSet, Sendable {
        let rawValue: Int
        /// A slot is free.
        static let slots = News(rawValue: 1)
        /// Other tasks may run, or other limits apply.
        static let queue = News(rawValue: 2)
        /// Something waits for another time.
        static let times = News(rawValue: 4)
        /// The machine's network or power, or what a task may use of them.
        static let conditions = News(rawValue: 8)
    }

    private struct State {
        var listeners: [Listener] = []
        var isStopped = false
    }

    private let state = Guarded(State())

    package init() {}

    /// Something changed that may let a task run, or that waits for a time.
    func changed() { send([.queue, .times]) }
    /// Another task may run, but nothing waits for another time.
    func queueChanged() { send(.queue) }
    /// Runs have ended, and nothing else has changed.
    func slotsFreed() { send(.slots) }
    /// Something waits for another time than before.
    func timesChanged() { send(.times) }

    /// The machine's network or power may forbid other tasks than before.
    func conditionsChanged() { send([.queue, .conditions]) }

    private func send(_ news: News) {
        let listeners = state.withLock { $0.isStopped ? [] : $0.listeners }
        for listener in listeners { listener.hear(news) }
    }

    /// Returns a listener that hears of `interests` from now on.
    func listen(to interests: News) -> Listener {
        let listener = Listener(interests)
        state.withLock { state in
            state.listeners.append(listener)
            if state.isStopped { listener.stop() }
        }
        return listener
    }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Tells every listener that the daemon stops.
    func stop() {
        let listeners = state.withLock { state in
            state.isStopped = true
            return state.listeners
        }
        for listener in listeners { listener.stop() }
    }

    /// Waits for news, one caller at a time.
    final class Listener: Sendable {
        private struct State {
            var pending: News = []
            var isStopped = false
            var waiter: CheckedContinuation<Void, Never>?
        }

        private let interests: News
        private let state = Guarded(State())

        fileprivate init(_ interests: News) { self.interests = interests }

        fileprivate func hear(_ news: News) {
            let news = news.intersection(interests)
            guard !news.isEmpty else { return }
            wake { $0.pending.formUnion(news) }
        }

        fileprivate func stop() { wake { $0.isStopped = true } }

        private func wake(_ change: (inout State) -> Void) {
            let waiter = state.withLock { state in
                change(&state)
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }

        /// Returns what has changed since the last call, and waits for a change if necessary; nil after `stop`.
        func next() async -> News? {
            await wait()
            return take()
        }

        /// Returns when there is news, or after `limit`.
        func wait(atMost limit: Duration) async {
            guard !hasNews, limit > .zero else { return }
            let sleeper = Task {
                if (try? await Task.sleep(for: limit)) != nil { wake { _ in } }
            }
            await wait()
            sleeper.cancel()
        }

        private var hasNews: Bool { state.withLock { $0.isStopped || !$0.pending.isEmpty } }

        private func wait() async {
            await withCheckedContinuation { continuation in
                let hasNews = state.withLock { state in
                    let hasNews = state.isStopped || !state.pending.isEmpty
                    if !hasNews { state.waiter = continuation }
                    return hasNews
                }
                if hasNews { continuation.resume() }
            }
        }

        /// Returns what has changed since the last call; nil after `stop`.
        func take() -> News? {
            state.withLock { state in
                defer { state.pending = [] }
                return state.isStopped ? nil : state.pending
            }
        }
    }
}
