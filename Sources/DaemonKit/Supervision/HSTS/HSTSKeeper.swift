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
    /// By domain. Tasks keep the list that they use. If a task outlives its session, only the task itself learns from its
    /// answers.
    let kept: Owned<Guarded<HSTSList>, String>
    fileprivate let time: any TimeSource

    /// - Parameter store: the store on the disk.
    package init(store: TransferStore, time: any TimeSource = SystemTime()) {
        self.time = time
        kept = Owned(store: store) { transaction in
            try transaction.removeHSTSHosts(expiredAt: time.reading().wall)
            return Dictionary(grouping: try transaction.hstsHosts()) { .shared($0.owner) }
                .mapValues { Guarded(HSTSList($0.map(\.host))) }
        } writing: { domains, owner, kept, transaction in
            let list = kept[.shared(owner)]
            for domain in domains {
                if let host = list?.withLock({ $0.host(domain) }) {
                    try transaction.put(host, owner: owner)
                } else {
                    try transaction.removeHSTSHost(domain, owner: owner)
                }
            }
        }
    }

    // MARK: Tasks

    /// Returns the list that a task of this session obeys and learns into; nil if it ignores HSTS.
    /// - Parameter isOver: whether the session has ended. Then nothing is kept for it.
    func hosts(of session: SessionKey, _ policy: EffectivePolicy, isOver: Bool = false) -> TaskHSTS? {
        guard policy.$network.wrappedValue.obeysHSTS else { return nil }
        let place = policy.usesOwnersStores ? OwnedPlace.shared(session.owner) : .volatile(session)
        let isKept = policy.usesOwnersStores || !isOver
        let list = isKept ? kept.value(at: place, Guarded(HSTSList())) : kept[place] ?? Guarded(HSTSList())
        return TaskHSTS(self, place, list)
    }

    /// The same for all tasks of a session.
    func hosts(of session: SessionRecord) -> TaskHSTS? {
        hosts(of: session.key, EffectivePolicy(session: session.configuration, kind: session.kind))
    }

    // MARK: Clients

    /// The hosts that have not expired, by name.
    package func list(_ place: OwnedPlace) -> [HSTSHost] {
        let now = time.reading().wall
        return kept[place]?.withLock { $0.all(at: now) } ?? []
    }

    /// Forgets a domain and the names below it, or all domains. This is durable when it returns.
    /// - Returns: how many were known.
    package func forget(_ domain: String?, in place: OwnedPlace) async throws -> Int {
        let now = time.reading().wall
        guard let list = kept[place] else { return 0 }
        let (gone, count) = list.withLock { list -> ([String], Int) in
            let before = list.all(at: now).count
            let gone = list.forget(domain)
            return (gone, before - list.all(at: now).count)
        }
        try await kept.write(Set(gone), of: place)
        return count
    }
}

/// The known hosts for one running task.
final class TaskHSTS: HSTSKeeping {
    private let keeper: HSTSKeeper
    private let place: OwnedPlace
    private let list: Guarded<HSTSList>

    fileprivate init(_ keeper: HSTSKeeper, _ place: OwnedPlace, _ list: Guarded<HSTSList>) {
        self.keeper = keeper
        self.place = place
        self.list = list
    }

    private func known(_ host: String) -> HSTSHost? {
        let now = keeper.time.reading().wall
        return list.withLock { $0.known(host, at: now) }
    }

    func isKnown(_ host: String) -> Bool { known(host) != nil }

    func receive(_ field: String, from host: String) {
        let now = keeper.time.reading().wall
        let changed = list.withLock { $0.receive(field, from: host, at: now) }
        if !changed.isEmpty { keeper.kept.store(Set(changed), of: place) }
    }

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
            let host = known(parsed.host)
        else { return }
        var sentence = Substring(failure.error.message)
        while let last = sentence.last, last.isWhitespace { sentence.removeLast() }
        if let last = sentence.last, !".!?".contains(last) { sentence += "." }
        failure.error.message =
            "\(sentence) HSTS turned http into https: \(host.domain) asked for that, the last time at \(host.learned). "
            + "If it does not offer https there, forget it (hsts.remove)."
        failure.error.details["hsts"] = [
            "domain": .string(host.domain), "learned": .string(host.learned.description),
        ]
        guard FailureClassifier.isWithoutTLS(error) else { return }
        failure.error.retryable = false
        failure.disposition = .permanent
    }
}
