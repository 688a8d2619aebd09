/// Jobs for threads that may block. Each has a key, and jobs that hang hold only threads of their own key.
///
/// Up to `width` jobs of a key run at a time; fewer if many threads are busy, but always at least one. So there are
/// never more threads than `limit` plus one for each key, and no key waits for another. The jobs of a key begin in
/// order, and the keys take turns.
///
/// It has one concrete type and is not generic: generic code would look up its type at each job.
package final class KeyedQueue: Sendable {
    package typealias Key = UInt64
    package typealias Job = @Sendable () -> Void

    private let name: String
    private let width: Int
    private let state: ConditionLock<KeyedSchedule<Key, Job>>

    /// - Parameters:
    ///   - name: the name of the threads in tools; at most 15 bytes.
    ///   - width: the jobs of one key at a time. If it is 0, the caller does the job itself, before `post` returns.
    ///   - limit: the number of busy threads from which on each key gets only one.
    package init(name: String, width: Int, limit: Int) {
        self.name = name
        self.width = max(0, width)
        state = ConditionLock(KeyedSchedule(width: max(1, width), limit: max(1, limit)))
    }

    package func post(on key: Key, _ job: @escaping Job) {
        guard width > 0 else { return job() }
        let (starts, wakes) = state.withLock { state in
            state.add(job, to: key)
            return (state.startsThread(), state.callsIdle())
        }
        if wakes { state.signal() }
        if starts, !NamedThread.start(name, { self.run() }) { threadMissing() }
    }

    /// Lets the threads end when the queue is empty.
    package func close() {
        state.withLock { $0.isClosed = true }
        state.broadcast()
    }

    private func run() {
        while let (key, job) = next() {
            job()
            state.withLock { $0.end(key) }
        }
    }

    /// Waits for a job that may begin; nil if the thread must end.
    private func next() -> (Key, Job)? {
        var isIdle = false
        let next = state.wait { state -> (key: Key, job: Job, wakes: Bool)?? in
            if isIdle {
                state.idle -= 1
                state.isCalling = false
            }
            isIdle = false
            if let (key, job) = state.take() { return .some((key, job, state.callsIdle())) }
            if state.isClosed || state.idle >= width {
                state.threads -= 1
                return .some(nil)
            }
            state.idle += 1
            isIdle = true
            return nil
        }
        guard let next else { return nil }
        if next.wakes { state.signal() }
        return (next.key, next.job)
    }

    /// If the system supplies no thread at all, does the jobs here: late is better than never.
    private func threadMissing() {
        let isAlone = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        guard isAlone else { return }
        while let (key, job) = state.withLock({ $0.take() }) {
            job()
            state.withLock { $0.end(key) }
        }
    }
}

/// Decides which job of which key begins next, and how many threads are needed. A value without threads or locks.
struct KeyedSchedule<Key: Hashable & Sendable, Job: Sendable> {
    private struct Line {
        var jobs: [Job] = []
        var head = 0
        var running = 0

        var waiting: Int { jobs.count - head }

        mutating func take() -> Job {
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

    let width: Int
    let limit: Int
    var threads = 0
    var idle = 0
    /// An idle thread was woken and has not come yet. It wakes the next one if necessary.
    var isCalling = false
    var isClosed = false

    private var lines: [Key: Line] = [:]
    /// Keys with waiting jobs, in the order of their turns.
    private var turns: [Key] = []
    private var busy = 0

    init(width: Int, limit: Int) {
        self.width = width
        self.limit = limit
    }

    mutating func add(_ job: Job, to key: Key) {
        let isFirst = lines[key, default: Line()].waiting == 0
        lines[key, default: Line()].jobs.append(job)
        if isFirst { turns.append(key) }
    }

    /// The next job of the first key that may run another one.
    mutating func take() -> (Key, Job)? {
        let most = allowance
        guard let index = turns.firstIndex(where: { (lines[$0]?.running ?? 0) < most }) else { return nil }
        let key = turns.remove(at: index)
        guard let job = lines[key]?.take() else { return nil }
        lines[key]?.running += 1
        busy += 1
        if lines[key]?.waiting != 0 { turns.append(key) }
        return (key, job)
    }

    mutating func end(_ key: Key) {
        busy -= 1
        lines[key]?.running -= 1
        if let line = lines[key], line.running == 0, line.waiting == 0 { lines[key] = nil }
    }

    /// How many jobs one key may run. Keys whose jobs hang leave one thread for each of the others.
    private var allowance: Int { max(1, min(width, limit - busy)) }

    /// How many jobs could begin now if there were threads.
    private var startable: Int {
        let most = allowance
        return turns.reduce(0) { sum, key in
            sum + max(0, min(lines[key]?.waiting ?? 0, most - (lines[key]?.running ?? 0)))
        }
    }

    /// Tells whether a thread must be started, and counts it.
    mutating func startsThread() -> Bool {
        // Threads that are not busy will take these jobs.
        guard startable > threads - busy, threads < limit + lines.count else { return false }
        threads += 1
        return true
    }

    /// Tells whether an idle thread must be woken now. Only one at a time: jobs are often done before a second thread
    /// has woken, and threads that wake in vain contend for the lock.
    mutating func callsIdle() -> Bool {
        guard idle > 0, !isCalling, startable > 0 else { return false }
        isCalling = true
        return true
    }
}
