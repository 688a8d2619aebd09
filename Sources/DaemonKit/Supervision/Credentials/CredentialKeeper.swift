import CurlEngine
import DaemonSetup
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// All credentials: the stored ones of owners and durable sessions and, in memory, those of volatile sessions.
///
/// Only this class decides which credential answers a challenge if no client is asked.
package final class CredentialKeeper: Sendable {
    /// Whose credentials a task may use.
    struct User: Sendable {
        var session: SessionKey
        var isVolatile: Bool
        /// The task may also use the credentials that all its owner's tasks share.
        var hasOwners: Bool

        init(_ record: TaskRecord, _ policy: EffectivePolicy) {
            self.init(record.session, isVolatile: record.id.isVolatile, policy)
        }

        init(_ session: SessionKey, isVolatile: Bool, _ policy: EffectivePolicy) {
            self.session = session
            self.isVolatile = isVolatile
            hasOwners = policy.usesOwnersStores
        }

        var own: OwnedPlace { isVolatile ? .volatile(session) : .session(session) }
        var shared: OwnedPlace { .shared(session.owner) }
        var places: [OwnedPlace] { hasOwners ? [own, shared] : [own] }
    }

    let kept: Owned<CredentialList, OwnedPlace>
    /// Credentials that helpers gave and servers refused. As long as the daemon runs, no task sends them again.
    private let refusedGifts = Guarded<[UserID: CredentialMarks]>([:])
    let helper: CredentialHelper?
    let kerberos: Kerberos?
    private let logger: Logger
    let time: any TimeSource

    /// - Parameters:
    ///   - store: the store on the disk.
    ///   - helper: nil if there is none, as in a system daemon.
    ///   - kerberos: nil if this machine has none.
    package init(
        store: TransferStore, helper: CredentialHelper? = nil, kerberos: Kerberos? = nil, logger: Logger,
        time: any TimeSource = SystemTime()
    ) {
        self.helper = helper
        self.kerberos = Kerberos.isInstalled ? kerberos : nil
        self.logger = logger
        self.time = time
        kept = Owned(store: store) { transaction in
            try transaction.removeCredentialsOfEndedSessions()
            return Dictionary(grouping: try transaction.credentials()) { owner, session, _ in
                session.isEmpty ? .shared(owner) : .session(SessionKey(owner: owner, identifier: session))
            }.mapValues { CredentialList($0.map(\.credential)) }
        } writing: { places, _, kept, transaction in
            for place in places {
                let all = kept[place]?.all ?? []
                switch place {
                case .shared(let owner):
                    // Credentials that last as long as the daemon stay in memory only.
                    try transaction.setCredentials(
                        all.filter { $0.persistence == .permanent }, owner: owner, session: "")
                case .session(let key):
                    guard let session = try transaction.session(key), session.state != .invalidated else { continue }
                    try transaction.setCredentials(all, owner: key.owner, session: key.identifier)
                case .volatile: break
                }
            }
        }
    }

    // MARK: Tasks

    /// Tells whether a challenge could be answered without asking a client.
    func mayAnswer(_ user: User) -> Bool {
        if user.hasOwners, helper?.isSet == true { return true }
        return kept.withAll { lists in
            !lists.isEmpty && user.places.contains { lists[$0]?.all.contains { !$0.isRefused } == true }
        }
    }

    /// Whether Kerberos may answer a demand for Negotiate, with the tickets of the daemon's user or for a user whom the
    /// task names (also in its URL).
    func mayNegotiate(_ user: User, _ policy: EffectivePolicy, _ spec: TaskSpec) -> Bool {
        guard let kerberos else { return false }
        if user.hasOwners && kerberos.hasTickets || policy.$network.wrappedValue.username != nil { return true }
        return spec.url.flatMap { try? URLRules.parse($0) }?.username != nil
    }

    /// Returns the stored credential for a challenge. The session's own credentials come first.
    /// - Parameters:
    ///   - places: the lists to search.
    ///   - username: whose credential it must be; nil for the default.
    func found(for demand: ProtectionSpace, in places: [OwnedPlace], of username: String? = nil) -> FoundCredential? {
        let choice = kept.withAll { lists in
            for place in places {
                if let choice = lists[place]?.choice(for: demand, of: username) { return choice as StoredCredential? }
            }
            return nil
        }
        return choice.map { one in
            var found = FoundCredential(username: one.username, password: one.password, source: .store)
            found.isOfRealm = one.space.realm != nil
            return found
        }
    }

    /// Returns a claimed task with the credentials that the store now has for its earlier challenges.
    func lookingUp(_ claimed: TaskRecord, _ user: User) -> TaskRecord {
        guard let settled = claimed.settled else { return claimed }
        var record = claimed
        let now = time.reading().wall
        record.settled = settled.lookingUp(
            isUseless: { isRefused($0, $1, user) || GitCredential.isExpired($0.attributes, at: now) }
        ) {
            found(for: $0, in: user.places, of: Self.username(in: claimed.spec, for: $0))
        }
        return record
    }

    /// The user whom the task names without a password, in its URL or as `username`. No other user's credential is sent
    /// to the server of its URL.
    static func username(in spec: TaskSpec, for demand: ProtectionSpace) -> String? {
        guard !demand.isProxy, let url = spec.url.flatMap({ try? URLRules.parse($0) }),
            url.hostKey == demand.origin || url.securedHostKey == demand.origin,
            (spec.username == nil ? url.password : spec.password) ?? "" == ""
        else { return nil }
        return spec.username ?? url.username
    }

    func isRefused(_ given: FoundCredential, _ demand: ProtectionSpace, _ user: User) -> Bool {
        refusedGifts.withLock {
            $0[user.session.owner]?.contain(given.username, given.password, for: demand) == true
        }
    }

    /// Tells whether a stored credential would answer the challenge if it had not been refused.
    func isRefused(_ demand: ProtectionSpace, in places: [OwnedPlace], of username: String?) -> Bool {
        kept.withAll { lists in
            places.flatMap { lists[$0]?.all ?? [] }.contains { one in
                one.isRefused && one.space.covers(demand) && username.map { one.username == $0 } ?? true
            }
        }
    }

    /// Tells the helper, without waiting for it.
    func refuse(gift: SettledDecisions.Space, by demand: ProtectionSpace, of owner: UserID) {
        let (username, password) = (gift.username ?? "", gift.password ?? "")
        refusedGifts.withLock {
            $0[owner, default: CredentialMarks()].add(username, password, at: CredentialSpace(demand))
        }
        guard gift.demand == demand else { return }
        Task { [helper] in await helper?.erase(username, password, for: demand) }
    }

    func note(refused username: String, _ password: String, by demand: ProtectionSpace, _ user: User) {
        for place in user.places {
            let isNew = kept.withAll { $0[place]?.refuse(username, password, by: demand) } ?? false
            if isNew { kept.store([place], of: place) }
        }
    }

    /// Keeps credentials that were accepted, according to their persistence, unless a client has removed them since it gave them
    /// to the task.
    func worked(_ spaces: [SettledDecisions.Space], for user: User) {
        for space in spaces {
            guard let username = space.username, let password = space.password, let demand = space.demand else {
                continue
            }
            let attributes = space.attributes ?? [:]
            if space.source == .helper, !GitCredential.isExpired(attributes, at: time.reading().wall) {
                Task { [helper] in await helper?.store(username, password, for: demand, attributes: attributes) }
            }
            var places: [OwnedPlace] = []
            switch space.persistence {
            case .session: places = [user.own]
            case .permanent: places = user.places
            case nil, CredentialPersistence.none?: break
            }
            for place in places {
                let isOwn = place == user.own
                let credential = StoredCredential(
                    space: CredentialSpace(demand), username: username, password: password,
                    persistence: isOwn ? .session : .permanent)
                do {
                    if try keep(credential, isDefault: true, in: place, after: space) {
                        kept.store([place], of: place)
                    }
                } catch {
                    logger.warning("a credential that worked is not kept", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    // MARK: The store

    /// - Parameter use: the task's answer to a challenge with the credential; nil if a client gives the credential now.
    /// - Returns: false if a client has removed the credential since a client gave it to the task.
    /// - Throws: `limit.reached`.
    @discardableResult
    private func keep(
        _ credential: StoredCredential, isDefault: Bool?, in place: OwnedPlace, after use: SettledDecisions.Space? = nil
    ) throws(TransferError) -> Bool {
        let now = time.reading().boot
        let isKept = kept.withAll { lists -> Bool? in
            var list = lists[place] ?? CredentialList()
            if let use, let demand = use.demand,
                list.hasRemoved(credential.username, credential.password, for: demand, since: use.answeredAt)
            {
                return nil
            }
            list.keep(credential, isDefault: isDefault, at: now)
            let others = lists.filter { $0.key != place && $0.key.owner == place.owner }.values
            guard others.reduce(list.all.count, { $0 + $1.all.count }) <= Bounds.credentials else { return false }
            lists[place] = list
            return true
        }
        guard isKept == false else { return isKept != nil }
        throw TransferError(
            .limitReached,
            "You have \(Bounds.credentials) credentials, which is the most; remove some with credentials.remove.")
    }

    // MARK: Clients

    /// In the order in which they were stored.
    package func list(_ place: OwnedPlace) -> [StoredCredential] { kept[place]?.all ?? [] }

    /// Stores a credential, which replaces the one with the same space and user name. It is durable when this returns.
    /// - Parameter isDefault: nil to make it the default unless its space has another one.
    /// - Throws: `limit.reached`, and what the store throws. In the latter case the credential is in use, and is stored
    ///   later.
    package func set(_ credential: StoredCredential, isDefault: Bool?, in place: OwnedPlace) async throws {
        try keep(credential, isDefault: isDefault, in: place)
        allowGifts(at: credential.space, of: place.owner)
        try await kept.write([place], of: place)
    }

    /// A change of the stored credentials for a space also allows the helper's to be tried again.
    private func allowGifts(at space: CredentialSpace, of owner: UserID) {
        refusedGifts.withLock { $0[owner]?.remove(at: space) }
    }

    /// Removes the credentials of a server or proxy. The removal is durable when this returns.
    /// - Returns: how many.
    package func remove(at space: CredentialSpace, username: String?, in place: OwnedPlace) async throws -> Int {
        allowGifts(at: space, of: place.owner)
        let now = time.reading().boot
        let count = kept.withAll { $0[place]?.remove(at: space, username: username, time: now) } ?? 0
        // An earlier removal may not be stored yet.
        try await kept.write(count > 0 ? [place] : [], of: place)
        return count
    }
}

// MARK: - Offers

/// Finds the credential for a demand that ended an attempt.
extension CredentialKeeper {
    /// The credentials that were refused or could not be used, and how they were sent.
    private struct Vain {
        /// The only user whose credential may be sent; nil for any.
        var username: String?
        /// What the task's questions have settled about the server or proxy.
        var place: SettledDecisions.Space?
        /// The credential that was sent instead of the task's own.
        var sent: SettledDecisions.Space?
        /// Why Kerberos had no token for it, or that its token was refused.
        var kerberos: KerberosFailure?
        /// The realm refused the password. If false, the server refused the token.
        var isOfRealm = false
        /// Another method is offered and is used from now on, even with a credential that Kerberos could not use.
        var leavesNegotiate = false
        var refused: [FoundCredential] = []

        /// Whether a credential may be sent to answer this demand.
        func allows(_ found: FoundCredential, _ demand: ProtectionSpace) -> Bool {
            func isSame(_ username: String?, _ password: String?) -> Bool {
                found.username == username && found.password == password ?? ""
            }
            if let sent, kerberos != nil, demand.method == .negotiate, isSame(sent.username, sent.password) {
                return false
            }
            return !refused.contains { isSame($0.username, $0.password) }
        }
    }

    /// Looks for a credential without asking a client, and notes refused ones.
    /// - Parameter asking: called before the helper is asked, because that may take long. A cancelled task does not
    ///   wait for the helper.
    /// - Returns: nil if the answer demands nothing that credentials can answer.
    func offer(
        after failure: AttemptFailure, of record: TaskRecord, _ policy: EffectivePolicy,
        asking: @Sendable () -> Void = {}
    ) async -> CredentialOffer? {
        guard let head = failure.challenge else { return nil }
        var demands = ProtectionSpace.demands(head, proxy: policy.network.proxy)
        if kerberos == nil { demands.removeAll { $0.method == .negotiate } }
        guard let strongest = demands.first else { return nil }
        var vain = Vain(
            username: Self.username(in: record.spec, for: strongest), place: record.settled?.place(of: strongest),
            sent: record.settled?.credential(
                for: strongest, at: head.url, isRedirected: record.settled?.isRedirected(head) == true))
        if vain.sent?.demand?.method == .negotiate {
            vain.kerberos = Negotiation.failure(head)
            vain.isOfRealm = head.kerberosFailure?.isRefusal == true
        }
        if strongest.method == .negotiate, demands.count > 1, await !isNegotiateTried(&vain) { demands.removeFirst() }
        let user = User(record, policy)
        let own = TaskTransitions.ownCredential(of: record, for: demands[0], policy).map {
            FoundCredential(username: $0.username, password: $0.password ?? "", source: .task)
        }
        let isOwnDropped =
            !strongest.isProxy && (head.isForeign || record.settled?.standing?.isForeign == true)
        let isOwnSpent = isSpent(own, demands, vain, isSentByItself: !isOwnDropped)
        // If the realm did not answer, the task's own credential was not refused.
        let isUnused = vain.sent?.source == .task && vain.kerberos?.isRefusal == false
        if let own, isOwnSpent, !isUnused { vain.refused.append(own) }
        noteRefused(&vain, by: demands[0], user)

        var offer = CredentialOffer(space: demands[0])
        offer.wasOwnSent = isOwnSpent
        offer.isOwnDropped = isOwnDropped
        offer.kerberos = vain.kerberos?.reason
        offer.isStoredRefused = isRefused(demands[0], in: user.places, of: vain.username)
        if let own, vain.allows(own, demands[0]) {
            offer.found = own
            return offer
        }
        guard policy.answersChallenges else { return offer }
        let isAsked = policy.asks.contains(.challenge)
        // If the client is asked, only the session's own credentials are used unasked: the client gave them for all
        // tasks of the session. Tickets and the helper are tried after stored credentials. So if those failed with
        // Kerberos, the stored ones have failed with it before.
        let isPast =
            vain.kerberos != nil && !vain.leavesNegotiate
            && (vain.sent?.source == .ticket || vain.sent?.source == .helper)
        for demand in demands where !(isPast && demand.method == .negotiate) {
            let places = isAsked ? [user.own] : user.places
            guard let found = found(for: demand, in: places, of: vain.username), vain.allows(found, demand)
            else { continue }
            (offer.space, offer.found) = (demand, found)
            return offer
        }
        if isAsked {
            offer.proposedUser = found(for: demands[0], in: user.places, of: vain.username)?.username
        } else {
            await findOutside(&offer, vain, user, asking)
        }
        return offer
    }

    /// Whether Negotiate is tried before another method that is offered too. It is not if Kerberos has failed or has no
    /// realm. But if the realm refused a client's password, the client may have mistyped it and is asked again.
    private func isNegotiateTried(_ vain: inout Vain) async -> Bool {
        if vain.place?.declinesNegotiate == true { return false }
        if vain.kerberos != nil {
            let isAskedAgain = vain.isOfRealm && vain.sent?.source == nil
            vain.leavesNegotiate = !isAskedAgain
            return isAskedAgain
        }
        return await kerberos?.knowsRealm(of: nil) == true
    }

    /// Whether the task's own credential has been sent. libcurl sends it unasked if Basic or Digest is offered.
    /// Otherwise it is sent once, in answer to a demand.
    /// - Parameter isSentByItself: false if a redirect has dropped it.
    private func isSpent(
        _ own: FoundCredential?, _ demands: [ProtectionSpace], _ vain: Vain, isSentByItself: Bool
    ) -> Bool {
        guard own != nil else { return false }
        if isSentByItself, demands.contains(where: { $0.method == .httpBasic || $0.method == .httpDigest }) {
            return true
        }
        return !vain.leavesNegotiate && (vain.sent != nil || vain.place?.failures ?? 0 > 0)
    }

    /// Tries the tickets of the daemon's user, then the helper.
    private func findOutside(
        _ offer: inout CredentialOffer, _ vain: Vain, _ user: User, _ asking: @Sendable () -> Void
    ) async {
        let demand = offer.space
        if demand.method == .negotiate, vain.username == nil, user.hasOwners, let kerberos, kerberos.hasTickets {
            if vain.sent?.source != .ticket, vain.place?.declinesTickets != true {
                let missing = await kerberos.missingTicket()
                if missing == nil { return offer.found = .ticket }
                offer.kerberos = offer.kerberos ?? missing
            }
        }
        guard user.hasOwners, let helper, helper.isSet else { return }
        guard vain.sent?.source != .helper || vain.leavesNegotiate else {
            offer.helper = .refused
            return
        }
        asking()
        switch await helper.get(for: demand, of: vain.username, at: time.reading().wall) {
        case .nothing: offer.helper = .nothing
        case .failed: offer.helper = .failed
        case .credential(let given) where vain.allows(given, demand) && !isRefused(given, demand, user):
            offer.found = given
        case .credential: offer.helper = .refused
        }
    }

    /// Notes the credentials that must not be sent again. A credential that Kerberos could not use was not refused.
    private func noteRefused(_ vain: inout Vain, by demand: ProtectionSpace, _ user: User) {
        // It may have been sent for another realm or method, which the server named before.
        if let sent = vain.sent, let name = sent.username, sent.source != .ticket, !vain.leavesNegotiate,
            vain.kerberos?.isRefusal != false
        {
            vain.refused.append(FoundCredential(username: name, password: sent.password ?? "", source: .store))
            if sent.source == .helper { refuse(gift: sent, by: demand, of: user.session.owner) }
        }
        for one in vain.refused { note(refused: one.username, one.password, by: demand, user) }
    }
}
