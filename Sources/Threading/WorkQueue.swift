/// A first-in, first-out queue of jobs for a few threads that are allowed to block; posting allocates nothing once warm.
package final class WorkQueue<Job: Sendable>: Sendable {
    private struct State {
        var jobs: [Job] = []
        var head = 0
        var threads = 0
        var idle = 0
        /// One was called and has not come yet; it calls the next one if there is need.
        var isCalling = false
        var isClosed = false

        var waiting: Int { jobs.count - head }

        /// Whether an idle thread is to be called now. One at a time: jobs are often done before the second has woken, and
        /// threads that wake for nothing wait for each other at the lock.
        mutating func calls() -> Bool {
            guard waiting > 0, idle > 0, !isCalling else { return false }
            isCalling = true
            return true
        }

        mutating func take() -> Job? {
            guard head < jobs.count else { return nil }
            let job = jobs[head]
            head += 1
            if head == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                head = 0
            } else if head >= 1024 {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }
    }

    private let name: String
    private let threadLimit: Int
    private let perform: @Sendable (Job) -> Void
    private let state = ConditionLock(State())

    /// With one thread the jobs run strictly in order. Threads start when a job waits and none is idle, and stay.
    /// - Parameter threads: with 0 whoever posts a job does it, before `post` returns.
    package init(name: String, threads: Int, perform: @escaping @Sendable (Job) -> Void) {
        self.name = name
        threadLimit = max(0, threads)
        self.perform = perform
    }

    package func post(_ job: Job) {
        guard threadLimit > 0 else { return perform(job) }
        let (starts, wakes) = state.withLock { state in
            state.jobs.append(job)
            let starts = state.waiting > state.idle && state.threads < threadLimit
            if starts { state.threads += 1 }
            return (starts, state.calls())
        }
        if wakes { state.signal() }
        if starts, !NamedThread.start(name, { self.run() }) { threadMissing() }
    }

    /// Lets the threads end once the queue is empty.
    package func close() {
        state.withLock { $0.isClosed = true }
        state.broadcast()
    }

    private func run() {
        while let (job, calls) = next() {
            if calls { state.signal() }
            perform(job)
        }
    }

    /// Waits for a job, and says whether another thread is to be called; nil once the queue is closed and empty.
    private func next() -> (Job, calls: Bool)? {
        var isIdle = false
        return state.wait { state -> (Job, calls: Bool)?? in
            if isIdle {
                state.idle -= 1
                state.isCalling = false
            }
            isIdle = false
            if let job = state.take() { return .some((job, state.calls())) }
            if state.isClosed {
                state.threads -= 1
                return .some(nil)
            }
            state.idle += 1
            isIdle = true
            return nil
        }
    }

    /// Where the system gave no thread at all, the jobs are done here: late is better than never.
    private func threadMissing() {
        let isAlone = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        guard isAlone else { return }
        while let job = state.withLock({ $0.take() }) { perform(job) }
    }
}
