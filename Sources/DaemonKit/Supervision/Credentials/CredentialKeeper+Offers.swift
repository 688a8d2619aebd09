import CurlEngine
import TransferCore
import TransferModel

/// What becomes of a demand for credentials that ended an attempt.
extension CredentialKeeper {
    /// What was sent in vain, and how.
    private struct Vain {
        /// The only user whose credential may be sent; nil for any.
        var username: String?
        /// Settled about the server or proxy before.
        var place: SettledDecisions.Space?
        /// Sent in place of the task's own.
        var sent: SettledDecisions.Space?
        /// Kerberos had no token for it, or its token was refused.
        var kerberos: KerberosFailure?
        /// The realm has refused the password, and not the server the token.
        var isOfRealm = false
        /// Another way is offered, and is gone from here on: what Kerberos could not use is good for it.
        var leavesNegotiate = false
        var refused: [FoundCredential] = []

        /// Whether a credential may be sent in this way.
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

    /// Looks where nobody needs to be asked. What was refused is noted.
    /// - Parameter asking: called before the helper is asked, which may take its time; a cancelled task does not wait for it.
    /// - Returns: nil if nothing was demanded that credentials answer.
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
        let isOwnSpent = isSpent(own, demands, vain)
        // A realm that did not answer has refused nothing.
        let isUnused = vain.sent?.source == .task && vain.kerberos?.isRefusal == false
        if let own, isOwnSpent, !isUnused { vain.refused.append(own) }
        noteRefused(&vain, by: demands[0], user)

        var offer = CredentialOffer(space: demands[0])
        offer.wasOwnSent = isOwnSpent
        offer.kerberos = vain.kerberos?.reason
        offer.isStoredRefused = isRefused(demands[0], in: user.places, of: vain.username)
        if let own, vain.allows(own, demands[0]) {
            offer.found = own
            return offer
        }
        guard policy.answersChallenges else { return offer }
        let isAsked = policy.asks.contains(.challenge)
        if isAsked { for demand in demands { self.isAsked(user, about: demand) } }
        // The client has said of those of its session that they are for all of its tasks; others it is asked about.
        // Stored ones go before tickets and the helper: what Kerberos could not use then, it cannot use now.
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

    /// Whether Negotiate comes before another way that is offered too: not if Kerberos has failed or has no realm. A client
    /// whose password the realm refused may have mistyped it, and is asked again.
    private func isNegotiateTried(_ vain: inout Vain) async -> Bool {
        if vain.place?.declinesNegotiate == true { return false }
        if vain.kerberos != nil {
            let isAskedAgain = vain.isOfRealm && vain.sent?.source == nil
            vain.leavesNegotiate = !isAskedAgain
            return isAskedAgain
        }
        return await kerberos?.knowsRealm(of: nil) == true
    }

    /// The task's own credential goes by itself where Basic or Digest is offered, and else once in answer to a demand.
    private func isSpent(_ own: FoundCredential?, _ demands: [ProtectionSpace], _ vain: Vain) -> Bool {
        guard own != nil else { return false }
        if demands.contains(where: { $0.method == .httpBasic || $0.method == .httpDigest }) { return true }
        return !vain.leavesNegotiate && (vain.sent != nil || vain.place?.failures ?? 0 > 0)
    }

    /// Those whom nobody has named for this task: the tickets of the daemon's user, then the helper.
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
        switch await helper.get(for: demand, of: vain.username) {
        case .nothing: offer.helper = .nothing
        case .failed: offer.helper = .failed
        case .credential(let given) where vain.allows(given, demand) && !isRefused(given, demand, user):
            offer.found = given
        case .credential: offer.helper = .refused
        }
    }

    /// Notes what is not to be sent again. What Kerberos could not use is not refused by anybody.
    private func noteRefused(_ vain: inout Vain, by demand: ProtectionSpace, _ user: User) {
        // It was sent whatever the realm: the server may have named another one, or another method, before.
        if let sent = vain.sent, let name = sent.username, sent.source != .ticket, !vain.leavesNegotiate,
            vain.kerberos?.isRefusal != false
        {
            vain.refused.append(FoundCredential(username: name, password: sent.password ?? "", source: .store))
            if sent.source == .helper { refuse(gift: sent, by: demand, of: user.session.owner) }
        }
        for one in vain.refused { note(refused: one.username, one.password, by: demand, user) }
    }
}
