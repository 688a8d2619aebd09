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
        /// Tasks keep the list that they use. If a task outlives its session, only the task itself learns from its
        /// answers.
        var lists: [Place: Guarded<HSTSList>] = [:]
    }

    private let state = Guarded(State())
    /// By domain.
    private let unstored: UnstoredChanges<String>
    private let store: TransferStore
    private let time: any TimeSource

    /// - Parameter store: the store on the disk.
    package init(store: TransferStore, time: any TimeSource = SystemTime()) {
        self.store = store
        self.time = time
        unstored = UnstoredChanges(store: store)
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
            (Place.shared(owner), Guarded(HSTSList(hosts.map(\.host))))
        }
        state.withLock { $0.lists = Dictionary(uniqueKeysWithValues: lists) }
    }

    // MARK: Tasks

    /// Returns the list that a task of this session obeys and learns into; nil if it ignores HSTS.
    /// - Parameter isOver: whether the session has ended. Then nothing is kept for it.
    func hosts(of session: SessionKey, _ policy: EffectivePolicy, isOver: Bool = false) -> TaskHSTS? {
        guard policy.$network.wrappedValue.obeysHSTS else { return nil }
        let place = policy.usesOwnersStores ? Place.shared(session.owner) : .volatile(session)
        let list = state.withLock { state in
            let list = state.lists[place] ?? Guarded(HSTSList())
            if policy.usesOwnersStores || !isOver { state.lists[place] = list }
            return list
        }
        return TaskHSTS(self, place, list)
    }

    /// The same for all tasks of a session.
    func hosts(of session: SessionRecord) -> TaskHSTS? {
        hosts(of: session.key, EffectivePolicy(session: session.configuration, kind: session.kind))
    }

    fileprivate func known(_ host: String, in list: Guarded<HSTSList>) -> HSTSHost? {
        let now = time.reading().wall
        return list.withLock { $0.known(host, at: now) }
    }

    fileprivate func receive(_ field: String, from host: String, in list: Guarded<HSTSList>, of place: Place) {
        let now = time.reading().wall
        let changed = list.withLock { $0.receive(field, from: host, at: now) }
        guard case .shared(let owner) = place, !changed.isEmpty else { return }
        unstored.store(Set(changed), of: owner, storing(of: owner))
    }

    /// Watches the committed events of volatile sessions. What a session had for itself ends with it.
    func follow(_ events: [EventRecord]) {
        for event in events where event.type == .sessionInvalidated {
            state.withLock { $0.lists[.volatile(event.session)] = nil }
        }
    }

    // MARK: The store

    /// Hands the store what a failing disk kept out of it.
    func flush() { unstored.flush() }
    var unstoredCount: Int { unstored.count }

    private func storing(of owner: UserID) -> UnstoredChanges<String>.Body {
        { [self] domains, transaction in
            let list = find(.shared(owner))
            for domain in domains {
                if let host = list?.withLock({ $0.host(domain) }) {
                    try transaction.put(host, owner: owner)
                } else {
                    try transaction.removeHSTSHost(domain, owner: owner)
                }
            }
        }
    }

    // MARK: Clients

    private func find(_ place: Place) -> Guarded<HSTSList>? { state.withLock { $0.lists[place] } }

    /// The hosts that have not expired, by name.
    package func list(_ place: Place) -> [HSTSHost] {
        let now = time.reading().wall
        return find(place)?.withLock { $0.all(at: now) } ?? []
    }

    /// Forgets a domain and the names below it, or all domains. This is durable when it returns.
    /// - Returns: how many were known.
    package func forget(_ domain: String?, in place: Place) async throws -> Int {
        let now = time.reading().wall
        guard let list = find(place) else { return 0 }
        let (gone, count) = list.withLock { list -> ([String], Int) in
            let before = list.all(at: now).count
            let gone = list.forget(domain)
            return (gone, before - list.all(at: now).count)
        }
        guard case .shared(let owner) = place else { return count }
        try await unstored.write(Set(gone), of: owner, storing(of: owner))
        return count
    }
}

/// The known hosts for one running task.
final class TaskHSTS: HSTSKeeping {
    private let keeper: HSTSKeeper
    private let place: HSTSKeeper.Place
    private let list: Guarded<HSTSList>

    fileprivate init(_ keeper: HSTSKeeper, _ place: HSTSKeeper.Place, _ list: Guarded<HSTSList>) {
        self.keeper = keeper
        self.place = place
        self.list = list
    }

    func isKnown(_ host: String) -> Bool { keeper.known(host, in: list) != nil }

    func receive(_ field: String, from host: String) { keeper.receive(field, from: host, in: list, of: place) }

    /// Returns the URL with https; nil if its scheme is not http, or if its host is not a known host.
    func secured(_ url: String) -> String? {
        guard let parsed = try? URLRules.parse(url), parsed.scheme == .http, isKnown(parsed.host) else { return nil }
        return StrictTransportSecurity.secured(parsed.requestURL)
    }

    /// Scheme, name and port of the server to which a request for the URL goes: over https if its host is known.
    func hostKey(of url: ParsedURL) -> String {
        guard url.scheme == .http, isKnown(url.host) else { return url.hostKey }
        return url.securedHostKey ?? url.hostKey
    }

    /// If a server could not be reached over https, adds to the error that the URL was http, since when its host is
    /// known, and how to forget the host. If the server does not speak TLS, the failure is final: no attempt may use http
    /// instead (RFC 6797 section 8.4), and the port does not change by itself.
    /// - Parameter url: the https URL that was requested instead.
    func explain(_ failure: inout AttemptFailure, securing url: String) {
        let error = failure.error
        let codes: [ErrorCode] = [.tlsFailed, .tlsUntrusted, .networkConnect, .networkTimeout, .networkLost]
        // The error may be about a mirror, which has another name.
        guard codes.contains(error.code), let parsed = try? URLRules.parse(url), error.message.contains(parsed.host),
            let known = keeper.known(parsed.host, in: list)
        else { return }
        var sentence = Substring(failure.error.message)
        while let last = sentence.last, last.isWhitespace { sentence.removeLast() }
        if let last = sentence.last, !".!?".contains(last) { sentence += "." }
        failure.error.message =
            "\(sentence) HSTS turned http into https: \(known.domain) asked for that, the last time at \(known.learned). "
            + "If it does not offer https there, forget it (hsts.remove)."
        failure.error.details["hsts"] = [
            "domain": .string(known.domain), "learned": .string(known.learned.description),
        ]
        guard FailureClassifier.isWithoutTLS(error) else { return }
        failure.error.retryable = false
        failure.disposition = .permanent
    }
}
