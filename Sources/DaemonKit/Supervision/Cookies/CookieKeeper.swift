import DaemonSetup
import Threading
import TransferCore
import TransferModel
import TransferStore

/// All cookies: the stored ones of owners and their sessions and, in memory, those of volatile sessions and of tasks
/// between two attempts.
///
/// Cookies that a server sets are handed to the store before the response's body is read. So they are stored no later
/// than the end of their task.
package final class CookieKeeper: Sendable {
    /// A cookie of an owner.
    struct Key: Hashable {
        /// Empty for the jar that all sessions of the owner share.
        var session: String
        var cookie: Cookie.Identity
    }

    /// The storage of an owner also has the jars of the owner's durable sessions.
    let kept: Owned<CookieStorage, Key>
    /// Of tasks between two attempts. The number grows with each new entry.
    private let waiting = Guarded<[TaskID: (number: Int, owner: UserID, jar: CookieJar, bytes: Int)]>([:])
    private let time: any TimeSource

    /// - Parameter store: the store on the disk.
    package init(store: TransferStore, time: any TimeSource = SystemTime()) {
        self.time = time
        kept = Owned(store: store) { transaction in
            try transaction.removeCookies(endedAt: time.reading().wall)
            try transaction.removeCookiesOfEndedSessions()
            return try transaction.cookies().reduce(into: [:]) { storages, one in
                let storage = storages[.shared(one.owner)] ?? CookieStorage()
                storage.restore(one.cookie, created: one.created, in: one.session)
                storages[.shared(one.owner)] = storage
            }
        } writing: { keys, owner, kept, transaction in
            let storage = kept[.shared(owner)]
            for key in keys {
                if let (cookie, created) = storage?.entry(key.session, key.cookie) {
                    try transaction.put(
                        StoredCookie(owner: owner, session: key.session, cookie: cookie, created: created))
                } else {
                    try transaction.removeCookie(key.cookie, owner: owner, session: key.session)
                }
            }
        }
    }

    /// Returns the storage of a place, and the name of its jar there.
    private func find(_ place: OwnedPlace) -> (storage: CookieStorage, name: String) {
        let storage = kept.value(at: place.isStored ? .shared(place.owner) : place, CookieStorage())
        return if case .session(let key) = place { (storage, key.identifier) } else { (storage, "") }
    }

    private static func keys(_ changed: [String: [Cookie.Identity]]) -> Set<Key> {
        Set(changed.flatMap { session, cookies in cookies.map { Key(session: session, cookie: $0) } })
    }

    // MARK: Tasks

    /// nil for a task that has no cookies.
    func cookies(of record: TaskRecord, _ policy: CookiePolicy) -> TaskCookies? {
        let url = record.spec.url ?? ""
        switch policy.storage {
        case .none: return nil
        case .task:
            let isFirst = record.status.attempts <= 1
            let left = isFirst ? nil : waiting.withLock { $0.removeValue(forKey: record.id)?.jar }
            let storage = CookieStorage(left.map { ["": $0] } ?? [:], most: Bounds.cookiesOfTask)
            if left == nil, let own = record.spec.cookies {
                let now = time.reading().wall
                _ = storage.change("", at: now) { jar in own.flatMap { Self.put($0, into: &jar, at: now) } }
            }
            return TaskCookies(storage, "", policy, url: url, time: time)
        case .session, .shared:
            let place: OwnedPlace =
                if policy.storage == .shared { .shared(record.session.owner) } else {
                    record.id.isVolatile ? .volatile(record.session) : .session(record.session)
                }
            let (storage, name) = find(place)
            return TaskCookies(storage, name, policy, url: url, time: time) { [weak kept] in
                kept?.store(Self.keys($0), of: place)
            }
        }
    }

    /// Keeps the cookies of a task between two attempts. Above their owner's limit, the tasks that have waited longest
    /// lose theirs.
    func keep(_ cookies: TaskCookies, of task: TaskID, _ owner: UserID) {
        guard let jar = cookies.leftover else { return }
        let bytes = jar.bytes
        waiting.withLock { waiting in
            let number = (waiting.values.lazy.map { $0.number }.max() ?? 0) + 1
            waiting[task] = (number, owner, jar, bytes)
            var sum = waiting.values.reduce(0) { $0 + ($1.owner == owner ? $1.bytes : 0) }
            guard sum > Bounds.waitingCookies else { return }
            let own = waiting.filter { $0.value.owner == owner }.sorted { $0.value.number < $1.value.number }
            for (task, oldest) in own where sum > Bounds.waitingCookies {
                waiting[task] = nil
                sum -= oldest.bytes
            }
        }
    }

    /// Drops the cookies of an ended task.
    func forget(_ task: TaskID) {
        waiting.withLock { if !$0.isEmpty { $0[task] = nil } }
    }

    /// Drops a session's cookies in memory only.
    func forget(_ place: OwnedPlace) {
        switch place {
        case .shared: break
        case .volatile: kept.forget(place)
        case .session(let session):
            guard let durable = kept[.shared(session.owner)], !durable.isEmpty(session.identifier) else { return }
            _ = durable.change(session.identifier, at: time.reading().wall) { $0.remove { _ in true } }
        }
    }

    // MARK: Clients

    /// The cookies that have not expired, in the order in which they were set.
    package func list(_ place: OwnedPlace) -> [Cookie] {
        let (storage, name) = find(place)
        let now = time.reading().wall
        return storage.jar(name).all.filter { $0.expires.map { $0 > now } ?? true }
    }

    /// Sets cookies. Each replaces the one with its name, domain and path. They are stored when this returns.
    /// - Returns: what became of them.
    @discardableResult
    package func set(
        _ cookies: [Cookie], in place: OwnedPlace
    ) async throws -> (replaced: Int, unchanged: Int, expired: Int, evicted: Int) {
        let (storage, name) = find(place)
        let now = time.reading().wall
        var keys: [String: [Cookie.Identity]] = [:]
        var (replaced, unchanged, expired) = (0, 0, 0)
        var ended: Set<Cookie.Identity> = []
        // Done in pieces, so that a request that waits for the lock waits only for a few cookies.
        for start in stride(from: 0, to: cookies.count, by: Self.piece) {
            let some = cookies[start..<min(start + Self.piece, cookies.count)]
            let changed = storage.change(name, at: now) { jar in
                some.flatMap { cookie in
                    let changes = Self.put(cookie, into: &jar, at: now)
                    if let end = cookie.expires, end <= now {
                        expired += 1
                        ended.formUnion(changes.map(\.key))
                    }
                    for case .stored(let new, created: _, let old?) in changes {
                        old == new ? (unchanged += 1) : (replaced += 1)
                    }
                    return changes
                }
            }
            keys.merge(changed) { $0 + $1 }
        }
        let evicted = keys.reduce(0) { count, changed in
            let gone = Set(changed.value).subtracting(changed.key == name ? ended : [])
            return count + gone.count { storage.entry(changed.key, $0) == nil }
        }
        try await kept.write(Self.keys(keys), of: place)
        return (replaced, unchanged, expired, evicted)
    }

    private static let piece = 50

    private static func put(_ cookie: Cookie, into jar: inout CookieJar, at now: Timestamp) -> [CookieJar.Change] {
        var cookie = cookie
        cookie.expires = cookie.expires.map { SetCookie.bounded($0, now) }
        return jar.put(cookie, at: now)
    }

    /// Removes the cookies that satisfy the condition. The removal is stored when this returns.
    /// - Returns: how many.
    package func remove(in place: OwnedPlace, where isMeant: @Sendable (Cookie) -> Bool) async throws -> Int {
        let (storage, name) = find(place)
        var count = 0
        let keys = storage.change(name, at: time.reading().wall) { jar in
            let changes = jar.remove(where: isMeant)
            count = changes.count
            return changes
        }
        try await kept.write(Self.keys(keys), of: place)
        return count
    }
}
