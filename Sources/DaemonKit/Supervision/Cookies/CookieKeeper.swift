import Threading
import TransferCore
import TransferModel

/// Gives each attempt its task's cookies, and keeps them for the next one in memory: they end with the daemon.
final class CookieKeeper: Sendable {
    private struct Waiting {
        var owner: UserID
        var jar: CookieJar
        var bytes: Int
    }

    /// In the order in which they came.
    private let waiting = Guarded<[(task: TaskID, left: Waiting)]>([])
    private let time: any TimeSource

    init(time: any TimeSource) { self.time = time }

    /// nil for a task that has none.
    func cookies(of record: TaskRecord, _ policy: CookiePolicy) -> TaskCookies? {
        guard policy.storage != .none else { return nil }
        let left = waiting.withLock { waiting -> CookieJar? in
            guard let index = waiting.firstIndex(where: { $0.task == record.id }) else { return nil }
            return waiting.remove(at: index).left.jar
        }
        return TaskCookies(left, policy, url: record.spec.url ?? "", time: time)
    }

    /// An attempt has ended, and the task is not over. Over their owner's bound, those that have waited longest lose theirs.
    func keep(_ cookies: TaskCookies, of task: TaskID, _ owner: UserID) {
        guard let jar = cookies.leftover else { return }
        let new = Waiting(owner: owner, jar: jar, bytes: jar.bytes)
        waiting.withLock { waiting in
            waiting.append((task, new))
            var sum = waiting.reduce(0) { $0 + ($1.left.owner == owner ? $1.left.bytes : 0) }
            while sum > Bounds.waitingCookies, let index = waiting.firstIndex(where: { $0.left.owner == owner }) {
                sum -= waiting.remove(at: index).left.bytes
            }
        }
    }

    /// The task is over.
    func forget(_ task: TaskID) { waiting.withLock { $0.removeAll { $0.task == task } } }
}
