/// A first-in, first-out queue of jobs for a few threads that may block: a `KeyedQueue` with one key.
package final class WorkQueue<Job: Sendable>: Sendable {
    private let queue: KeyedQueue
    private let perform: @Sendable (Job) -> Void

    /// With one thread, the jobs run strictly in order. Threads start when a job waits and no thread is idle, and stay.
    /// - Parameters:
    ///   - name: the name of the threads in tools; at most 15 bytes.
    ///   - threads: if it is 0, the caller does the job itself, before `post` returns.
    package init(name: String, threads: Int, perform: @escaping @Sendable (Job) -> Void) {
        // Twice as many threads are never busy, so jobs always have the full width.
        queue = KeyedQueue(name: name, width: threads, limit: 2 * threads)
        self.perform = perform
    }

    package func post(_ job: Job) { queue.post(on: 0) { [perform] in perform(job) } }

    /// Lets the threads end when the queue is empty.
    package func close() { queue.close() }
}
