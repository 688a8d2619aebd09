/// A first-in, first-out queue of jobs for a few threads that are allowed to block: one lane of a `LaneQueue`.
package final class WorkQueue<Job: Sendable>: Sendable {
    private let queue: LaneQueue
    private let perform: @Sendable (Job) -> Void

    /// With one thread the jobs run strictly in order. Threads start when a job waits and none is idle, and stay.
    /// - Parameters:
    ///   - name: of the threads, as tools show it; at most 15 bytes.
    ///   - threads: with 0 whoever posts a job does it, before `post` returns.
    package init(name: String, threads: Int, perform: @escaping @Sendable (Job) -> Void) {
        // Twice as many are never busy: the lane always has its full width.
        queue = LaneQueue(name: name, width: threads, limit: 2 * threads)
        self.perform = perform
    }

    package func post(_ job: Job) { queue.post(on: 0) { [perform] in perform(job) } }

    /// Lets the threads end once the queue is empty.
    package func close() { queue.close() }
}
