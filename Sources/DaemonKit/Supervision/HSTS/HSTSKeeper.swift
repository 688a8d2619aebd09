import CurlEngine
import DaemonSetup
import Threading
import TransferCore
import TransferModel
import TransferStore

/// The known hosts, which tasks reach over https only (RFC 6797): the stored ones of owners and, in memory, those of
/// ephemeral sessions.
///
/// A server's policy is handed to the store before the response's body is read. So it is stored no later than the end
/// of its task.
package final class HSTSKeeper: Sendable {
    package typealias Place = CookieKeeper.Place

    private struct State {
        var lists: [Place: HSTSList] = [:]
        /// Changes that a full disk kept out of the store. The owner's next change stores them too.
        var unstored: [UserID: [String]] = [:]
    }

    private let state = Guarded(State())
    private let store: TransferStore
    private let time: any TimeSource

    /// - Parameter store: the store on the disk.
    package init(store: TransferStore, time: any TimeSource = SystemTime()) {
        self.store = store
        self.time = time
    }

    /// Reads the stored hosts. Must be called before any other function.
    func load() async throws {
        guard state.withLock({ $0.lists.isEmpty }) else { return }
        let now = time.reading().wall
        let stored = try await store.write { transaction in
            try transaction.removeHSTSHosts(expiredAt: now)
            return try transaction.hstsHosts()
        }
        let lists = Dictionary(grouping: stored, by: \.owner).map { owner, hosts in
            (Place.shared(owner), HSTSList(hosts.map(\.host)))
        }
        state.withLock { $0.lists = Dictionary(uniqueKeysWithValues: lists) }
    }

    // MARK: Tasks

    /// Returns the list that a task of this session obeys and learns into; nil if it ignores HSTS.
    func hosts(of session: SessionKey, _ policy: EffectivePolicy) -> TaskHSTS? {
        guard policy.$network.wrappedValue.obeysHSTS else { return nil }
        return TaskHSTS(self, policy.usesOwnersStores ? .shared(session.owner) : .volatile(session))
    }

    fileprivate func isKnown(_ host: String, in place: Place) -> Bool {
        let now = time.reading().wall
        return state.withLock { $0.lists[place]?.isKnown(host, at: now) ?? false }
    }

    fileprivate func receive(_ field: String, from host: String, in place: Place) {
        let now = time.reading().wall
        let changed = state.withLock {
            $0.lists[place, default: HSTSList()].receive(field, from: host, at: now)
        }
        guard case .shared(let owner) = place, !changed.isEmpty else { return }
        let due = state.withLock { ($0.unstored.removeValue(forKey: owner) ?? []) + changed }
        store.write(storing(due, of: owner)) { [weak self] in
            guard case .failure = $0 else { return }
            self?.state.withLock { $0.unstored[owner, default: []] += due }
        }
    }

    /// Watches the committed events of volatile sessions. What a session had for itself ends with it.
    func follow(_ events: [EventRecord]) {
        for event in events where event.type == .sessionInvalidated {
            state.withLock { $0.lists[.volatile(event.session)] = nil }
        }
    }

    // MARK: The store

    /// Writes each host as it is at the time of the write. The newest value is stored, in whatever order the changes
    /// reach the store.
    private func storing(_ domains: [String], of owner: UserID) -> @Sendable (StoreTransaction) throws -> Void {
        { [self] transaction in
            for domain in Set(domains) {
                if let host = state.withLock({ $0.lists[.shared(owner)]?.host(domain) }) {
                    try transaction.put(host, owner: owner)
                } else {
                    try transaction.removeHSTSHost(domain, owner: owner)
                }
            }
        }
    }

    // MARK: Clients

    /// The hosts that have not expired, by name.
    package func list(_ place: Place) -> [HSTSHost] {
        let now = time.reading().wall
        return state.withLock { $0.lists[place]?.all(at: now) ?? [] }
    }

    /// Forgets a domain and the names below it, or all domains. This is durable when it returns. If the store fails,
    /// the owner's next change stores it too.
    /// - Returns: how many were known.
    package func forget(_ domain: String?, in place: Place) async throws -> Int {
        let now = time.reading().wall
        let (gone, count) = state.withLock { state -> ([String], Int) in
            let before = state.lists[place]?.all(at: now).count ?? 0
            let gone = state.lists[place]?.forget(domain) ?? []
            return (gone, before - (state.lists[place]?.all(at: now).count ?? 0))
        }
        guard case .shared(let owner) = place, !gone.isEmpty else { return count }
        do {
            try await store.write(storing(gone, of: owner))
        } catch {
            state.withLock { $0.unstored[owner, default: []] += gone }
            throw error
        }
        return count
    }
}

/// The known hosts for one running task.
final class TaskHSTS: HSTSKeeping {
    private let keeper: HSTSKeeper
    private let place: HSTSKeeper.Place

    init(_ keeper: HSTSKeeper, _ place: HSTSKeeper.Place) {
        self.keeper = keeper
        self.place = place
    }

    func isKnown(_ host: String) -> Bool { keeper.isKnown(host, in: place) }

    func receive(_ field: String, from host: String) { keeper.receive(field, from: host, in: place) }

    /// Returns the URL with https; nil if its scheme is not http, or if its host is not a known host.
    func secured(_ url: String) -> String? {
        guard let parsed = try? URLRules.parse(url), parsed.scheme == .http, isKnown(parsed.host) else { return nil }
        return StrictTransportSecurity.secured(parsed.requestURL)
    }
}
