import CurlEngine
import TransferCore
import TransferModel

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
