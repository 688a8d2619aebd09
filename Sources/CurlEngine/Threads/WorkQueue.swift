import Glibc

/// A first-in, first-out queue of jobs for a few threads that are allowed to block; posting allocates nothing once warm.
final class WorkQueue<Job: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let name: String
    private let threadLimit: Int
    private let perform: @Sendable (Job) -> Void
    // Guarded by `mutex`.
    private var jobs: [Job] = []
    private var head = 0
    private var threads = 0
    private var idle = 0
    private var closed = false

    /// With one thread the jobs run strictly in order. Threads start as they are needed.
    init(name: String, threads: Int, perform: @escaping @Sendable (Job) -> Void) {
        self.name = name
        threadLimit = threads
        self.perform = perform
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func post(_ job: Job) {
        pthread_mutex_lock(mutex)
        jobs.append(job)
        let waiting = jobs.count - head
        let starts = waiting > idle && threads < threadLimit
        if starts { threads += 1 }
        if idle > 0 { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
        if starts, !NamedThread.start(name, { self.run() }) {
            pthread_mutex_lock(mutex)
            threads -= 1
            let alone = threads == 0
            pthread_mutex_unlock(mutex)
            if alone { drainInPlace() }
        }
    }

    /// Lets the threads end once the queue is empty.
    func close() {
        pthread_mutex_lock(mutex)
        closed = true
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }

    private func run() {
        while let job = next(waits: true) { perform(job) }
    }

    /// The system gave no thread at all: late is better than never.
    private func drainInPlace() {
        while let job = next(waits: false) { perform(job) }
    }

    private func next(waits: Bool) -> Job? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while head == jobs.count {
            if !waits { return nil }
            if closed {
                threads -= 1
                return nil
            }
            idle += 1
            pthread_cond_wait(condition, mutex)
            idle -= 1
        }
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
