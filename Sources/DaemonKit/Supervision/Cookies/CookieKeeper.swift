import Threading
import TransferCore
import TransferModel
import TransferStore

/// All cookies: those of owners and their sessions, which are stored, and in memory those of volatile sessions and of tasks
/// between two attempts.
///
/// What a server sets is handed to the store before the response's body is read, so it is stored no later than the end of its task.
package final class CookieKeeper: Sendable {
    private struct Waiting {
        var task: TaskID
        var owner: UserID
        var jar: CookieJar
        var bytes: Int
    }

    private struct State {
        var owners: [UserID: CookieStorage] = [:]
        var volatile: [SessionKey: CookieStorage] = [:]
        /// In the order in which they came.
        var waiting: [Waiting] = []
        /// What a full disk kept from the store; the owner's next change takes it along.
        var unstored: [UserID: [String: [Cookie.Identity]]] = [:]
    }

    private let state = Guarded(State())
    private let store: TransferStore
    private let time: any TimeSource

    /// - Parameter store: the one on the disk.
    package init(store: TransferStore, time: any TimeSource = SystemTime()) {
        self.store = store
        self.time = time
    }

    /// Reads what is stored; before anything else is asked.
    func load() async throws {
        guard state.withLock({ $0.owners.isEmpty }) else { return }
        let stored = try await store.write { transaction in
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

    /// nil for a task that has none.
    func cookies(of record: TaskRecord, _ policy: CookiePolicy) -> TaskCookies? {
        let url = record.spec.url ?? ""
        switch policy.storage {
        case .none: return nil
        case .task:
            let left = state.withLock { state -> CookieJar? in
                guard let index = state.waiting.firstIndex(where: { $0.task == record.id }) else { return nil }
                return state.waiting.remove(at: index).jar
            }
            let storage = CookieStorage(left.map { ["": $0] } ?? [:], most: Bounds.cookiesOfTask)
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

    /// An attempt has ended, and the task is not over. Over their owner's bound, those that have waited longest lose theirs.
    func keep(_ cookies: TaskCookies, of task: TaskID, _ owner: UserID) {
        guard let jar = cookies.leftover else { return }
        let new = Waiting(task: task, owner: owner, jar: jar, bytes: jar.bytes)
        state.withLock { state in
            state.waiting.append(new)
            var sum = state.waiting.reduce(0) { $0 + ($1.owner == owner ? $1.bytes : 0) }
            while sum > Bounds.waitingCookies, let index = state.waiting.firstIndex(where: { $0.owner == owner }) {
                sum -= state.waiting.remove(at: index).bytes
            }
        }
    }

    /// The task is over.
    func forget(_ task: TaskID) { state.withLock { $0.waiting.removeAll { $0.task == task } } }

    /// The session is over, and with it what it had for itself.
    func forget(_ session: SessionKey) {
        let (volatile, durable) = state.withLock {
            ($0.volatile.removeValue(forKey: session), $0.owners[session.owner])
        }
        guard volatile == nil, let durable else { return }
        store(durable.change(session.identifier) { $0.remove { _ in true } }, of: session.owner)
    }

    // MARK: The store

    /// Hands changes to the store and does not wait.
    private func store(_ keys: [String: [Cookie.Identity]], of owner: UserID) {
        guard !keys.isEmpty else { return }
        let due = state.withLock { state in
            (state.unstored.removeValue(forKey: owner) ?? [:]).merging(keys) { $0 + $1 }
        }
        store.write(storing(due, of: owner)) { [weak self] in
            guard case .failure = $0 else { return }
            self?.state.withLock { $0.unstored[owner, default: [:]].merge(due) { $0 + $1 } }
        }
    }

    /// Writes each cookie as it is by then: whichever change comes last to the store, the last one counts.
    private func storing(
        _ keys: [String: [Cookie.Identity]], of owner: UserID
    ) -> @Sendable (StoreTransaction) throws -> Void {
        let storage = storage(of: owner)
        return { transaction in
            for (session, keys) in keys {
                for key in Set(keys) {
                    if let (cookie, created) = storage.entry(session, key) {
                        try transaction.put(
                            StoredCookie(owner: owner, session: session, cookie: cookie, created: created))
                    } else {
                        try transaction.removeCookie(key, owner: owner, session: session)
                    }
                }
            }
        }
    }

    // MARK: Clients

    /// Whose cookies a client means.
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

    /// Those that have not ended, in the order in which they were set.
    package func list(_ place: Place) -> [Cookie] {
        let (storage, name, _) = find(place)
        let now = time.reading().wall
        return storage.jar(name).all.filter { $0.expires.map { $0 > now } ?? true }
    }

    /// Sets cookies, each in place of the one with its name, domain and path; stored when it returns.
    package func set(_ cookies: [Cookie], in place: Place) async throws {
        let now = time.reading().wall
        try await change(place) { jar in
            cookies.flatMap { cookie in
                var cookie = cookie
                cookie.expires = cookie.expires.map { SetCookie.bounded($0, now) }
                return jar.put(cookie, at: now)
            }
        }
    }

    /// Removes the cookies that satisfy this; stored when it returns.
    /// - Returns: how many.
    package func remove(in place: Place, where isMeant: @Sendable (Cookie) -> Bool) async throws -> Int {
        var count = 0
        try await change(place) { jar in
            let changes = jar.remove(where: isMeant)
            count = changes.count
            return changes
        }
        return count
    }

    private func change(_ place: Place, _ body: (inout CookieJar) -> [CookieJar.Change]) async throws {
        let (storage, name, owner) = find(place)
        let keys = storage.change(name, body)
        guard let owner, !keys.isEmpty else { return }
        do {
            try await store.write(storing(keys, of: owner))
        } catch {
            state.withLock { $0.unstored[owner, default: [:]].merge(keys) { $0 + $1 } }
            throw error
        }
    }
}
