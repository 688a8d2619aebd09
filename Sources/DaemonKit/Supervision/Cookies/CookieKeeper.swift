import DaemonSetup
import Threading
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// All cookies: the stored ones of owners and their sessions and, in memory, those of volatile sessions and of tasks
/// between two attempts.
///
/// Cookies that a server sets are handed to the store before the response's body is read. So they are stored no later
/// than the end of their task.
package final class CookieKeeper: Sendable {
    private struct Waiting {
        /// Grows with each new entry.
        var number: Int64
        var owner: UserID
        var jar: CookieJar
        var bytes: Int
    }

    private struct State {
        var owners: [UserID: CookieStorage] = [:]
        var volatile: [SessionKey: CookieStorage] = [:]
        var waiting: [TaskID: Waiting] = [:]
        /// The number of the newest entry in `waiting`.
        var number: Int64 = 0
    }

    /// A cookie of an owner.
    private struct Key: Hashable {
        /// Empty for the jar that all sessions of the owner share.
        var session: String
        var cookie: Cookie.Identity
    }

    private let state = Guarded(State())
    private let unstored: UnstoredChanges<Key>
    private let store: TransferStore
    private let time: any TimeSource

    /// - Parameter store: the store on the disk.
    package init(store: TransferStore, time: any TimeSource = SystemTime()) {
        self.store = store
        self.time = time
        unstored = UnstoredChanges(store: store)
    }

    /// Reads the stored cookies. Must be called before any other function.
    func load() async throws {
        guard state.withLock({ $0.owners.isEmpty }) else { return }
        let now = time.reading().wall
        let stored = try await store.write { transaction in
            try transaction.removeCookies(endedAt: now)
            try transaction.removeCookiesOfEndedSessions()
            return try transaction.cookies()
        }
        for one in stored { storage(of: one.owner).restore(one.cookie, created: one.created, in: one.session) }
    }

    private func storage(of owner: UserID) -> CookieStorage {
        state.withLock { state in
            let storage = state.owners[owner] ?? CookieStorage()
            state.owners[owner] = storage
            return storage
        }
    }

    private func storage(ofVolatile session: SessionKey) -> CookieStorage {
        state.withLock { state in
            let storage = state.volatile[session] ?? CookieStorage()
            state.volatile[session] = storage
            return storage
        }
    }

    // MARK: Tasks

    /// nil for a task that has no cookies.
    func cookies(of record: TaskRecord, _ policy: CookiePolicy) -> TaskCookies? {
        let url = record.spec.url ?? ""
        switch policy.storage {
        case .none: return nil
        case .task:
            let isFirst = record.status.attempts <= 1
            let left = isFirst ? nil : state.withLock { $0.waiting.removeValue(forKey: record.id)?.jar }
            let storage = CookieStorage(left.map { ["": $0] } ?? [:], most: Bounds.cookiesOfTask)
            if left == nil, let own = record.spec.cookies {
                let now = time.reading().wall
                _ = storage.change("", at: now) { jar in own.flatMap { Self.put($0, into: &jar, at: now) } }
            }
            return TaskCookies(storage, "", policy, url: url, time: time)
        case .session where record.id.isVolatile:
            return TaskCookies(storage(ofVolatile: record.session), "", policy, url: url, time: time)
        case .session, .shared:
            let (owner, name) = (record.session.owner, policy.storage == .shared ? "" : record.session.identifier)
            return TaskCookies(storage(of: owner), name, policy, url: url, time: time) { [weak self] in
                self?.store($0, of: owner)
            }
        }
    }

    /// Keeps the cookies of a task between two attempts. Above their owner's limit, the tasks that have waited longest
    /// lose theirs.
    func keep(_ cookies: TaskCookies, of task: TaskID, _ owner: UserID) {
        guard let jar = cookies.leftover else { return }
        let bytes = jar.bytes
        state.withLock { state in
            state.number += 1
            state.waiting[task] = Waiting(number: state.number, owner: owner, jar: jar, bytes: bytes)
            var sum = state.waiting.values.reduce(0) { $0 + ($1.owner == owner ? $1.bytes : 0) }
            guard sum > Bounds.waitingCookies else { return }
            let own = state.waiting.filter { $0.value.owner == owner }.sorted { $0.value.number < $1.value.number }
            for (task, oldest) in own where sum > Bounds.waitingCookies {
                state.waiting[task] = nil
                sum -= oldest.bytes
            }
        }
    }

    /// Drops the cookies of an ended task.
    func forget(_ task: TaskID) {
        state.withLock { if !$0.waiting.isEmpty { $0.waiting[task] = nil } }
    }

    /// Watches the committed events of durable sessions, because they also end by themselves with their last tasks. The
    /// stored cookies go when a session is opened, or when the daemon starts.
    func follow(_ events: [EventRecord]) {
        for event in events where event.type == .sessionInvalidated { drop(.session(event.session)) }
    }

    /// Drops a session's cookies in memory only.
    func drop(_ place: Place) {
        switch place {
        case .shared: break
        case .volatile(let session): state.withLock { $0.volatile[session] = nil }
        case .session(let session):
            guard let durable = state.withLock({ $0.owners[session.owner] }), !durable.isEmpty(session.identifier)
            else { return }
            _ = durable.change(session.identifier, at: time.reading().wall) { $0.remove { _ in true } }
        }
    }

    // MARK: The store

    /// Hands changes to the store and does not wait.
    private func store(_ changed: [String: [Cookie.Identity]], of owner: UserID) {
        guard !changed.isEmpty else { return }
        unstored.store(Self.keys(changed), of: owner, storing(of: owner))
    }

    private static func keys(_ changed: [String: [Cookie.Identity]]) -> Set<Key> {
        Set(changed.flatMap { session, cookies in cookies.map { Key(session: session, cookie: $0) } })
    }

    private func storing(of owner: UserID) -> UnstoredChanges<Key>.Body {
        let storage = storage(of: owner)
        return { keys, transaction in
            for key in keys {
                if let (cookie, created) = storage.entry(key.session, key.cookie) {
                    try transaction.put(
                        StoredCookie(owner: owner, session: key.session, cookie: cookie, created: created))
                } else {
                    try transaction.removeCookie(key.cookie, owner: owner, session: key.session)
                }
            }
        }
    }

    /// Hands the store what a failing disk kept out of it.
    func flush() { unstored.flush() }
    var unstoredCount: Int { unstored.count }

    // MARK: Clients

    /// Identifies the jar that a client means.
    package enum Place: Hashable, Sendable {
        case shared(UserID)
        case session(SessionKey)
        case volatile(SessionKey)
    }

    private func find(_ place: Place) -> (storage: CookieStorage, name: String, owner: UserID?) {
        switch place {
        case .shared(let owner): (storage(of: owner), "", owner)
        case .session(let key): (storage(of: key.owner), key.identifier, key.owner)
        case .volatile(let key): (storage(ofVolatile: key), "", nil)
        }
    }

    /// The cookies that have not expired, in the order in which they were set.
    package func list(_ place: Place) -> [Cookie] {
        let (storage, name, _) = find(place)
        let now = time.reading().wall
        return storage.jar(name).all.filter { $0.expires.map { $0 > now } ?? true }
    }

    /// Sets cookies. Each replaces the one with its name, domain and path. They are stored when this returns.
    /// - Returns: what became of them.
    @discardableResult
    package func set(_ cookies: [Cookie], in place: Place) async throws -> SetCookies.Result {
        let (storage, name, owner) = find(place)
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
        try await write(keys, of: owner)
        return SetCookies.Result(
            set: cookies.count, replaced: replaced, unchanged: unchanged, expired: expired, evicted: evicted)
    }

    private static let piece = 50

    private static func put(_ cookie: Cookie, into jar: inout CookieJar, at now: Timestamp) -> [CookieJar.Change] {
        var cookie = cookie
        cookie.expires = cookie.expires.map { SetCookie.bounded($0, now) }
        return jar.put(cookie, at: now)
    }

    /// Removes the cookies that satisfy the condition. The removal is stored when this returns.
    /// - Returns: how many.
    package func remove(in place: Place, where isMeant: @Sendable (Cookie) -> Bool) async throws -> Int {
        let (storage, name, owner) = find(place)
        var count = 0
        let keys = storage.change(name, at: time.reading().wall) { jar in
            let changes = jar.remove(where: isMeant)
            count = changes.count
            return changes
        }
        try await write(keys, of: owner)
        return count
    }

    /// Stores changes, and those of the owner that are left.
    /// - Parameter owner: nil if they are not stored.
    private func write(_ changed: [String: [Cookie.Identity]], of owner: UserID?) async throws {
        guard let owner else { return }
        try await unstored.write(Self.keys(changed), of: owner, storing(of: owner))
    }
}
