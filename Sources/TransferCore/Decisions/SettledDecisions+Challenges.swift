import TransferModel

extension SettledDecisions {
    /// A server or proxy refused the task's own credentials.
    package mutating func refuseOwn(by space: ProtectionSpace) {
        var place = take(space)
        place.refusesOwn = true
        keep(place)
    }

    /// A server or proxy wants credentials: the credential it was given, if any, is refused and forgotten.
    /// - Parameters:
    ///   - ownUser: user name of the task's own credentials, if they were sent there.
    ///   - url: the URL that answered.
    ///   - isRedirected: whether a redirect led there.
    /// - Returns: the question; nil if the client is not asked again.
    package mutating func challenged(
        _ space: ProtectionSpace, ownUser: String?, response: ResponseInfo?, at url: String? = nil,
        isRedirected: Bool = false
    ) -> Question? {
        guard declinesCredentials != true, asked < Bounds.decisions else { return nil }
        let sent = credential(for: space, at: url, isRedirected: isRedirected)
        var place = take(space, sent)
        let refused = sent?.source == .ticket ? ownUser : sent?.username ?? ownUser
        if sent?.source == .ticket { place.declinesTickets = true }
        if place.demand?.method == .negotiate, space.method != .negotiate { place.declinesNegotiate = true }
        if sent != nil {
            place.failures += 1
        } else if ownUser != nil {
            place.failures = max(place.failures, 1)
        }
        // What was not sent there was not refused.
        if sent != nil || place.username == nil { place.forgetCredential() }
        keep(place)
        guard place.failures < Bounds.credentialFailures else { return nil }
        asked += 1
        proposed = nil
        var question = Question(.challenge)
        question.protectionSpace = space
        question.previousFailureCount = place.failures
        question.proposedUser = refused
        question.response = response
        return question
    }

    /// Uses a credential that no client gave for this task, to answer a challenge.
    /// - Parameter url: the URL that demands it.
    package mutating func use(_ known: FoundCredential, for space: ProtectionSpace, at url: String? = nil) {
        var place = take(space)
        place.username = known.username
        // Passwords from the store are looked up again: they may be removed, or refused to another task.
        place.password = known.source == .store ? nil : known.password
        place.method = space.method == .ntlm ? .ntlm : nil
        place.demand = space
        place.source = known.source
        place.attributes = known.attributes.isEmpty ? nil : known.attributes
        place.isOfRealm = known.isOfRealm && !space.isProxy ? true : nil
        if let url, place.isOfRealm == true {
            place.urls = Array(((place.urls ?? []).filter { $0 != url } + [url]).suffix(Self.mostURLs))
        }
        keep(place)
    }

    /// The most URLs that are kept: as many as a chain of redirects may have.
    private static let mostURLs = 20

    /// A copy with the credentials that the store has now, for one attempt; never stored.
    /// - Parameters:
    ///   - isUseless: whether what a helper gave has expired, or a server has refused it to another task.
    ///   - find: the credential that answers a challenge; nil if none does any more.
    package func lookingUp(
        isUseless: (FoundCredential, ProtectionSpace) -> Bool = { _, _ in false },
        _ find: (ProtectionSpace) -> FoundCredential?
    ) -> SettledDecisions {
        var copy = self
        for index in copy.spaces.indices where copy.spaces[index].source == .store {
            let known = copy.spaces[index].demand.flatMap(find)
            copy.spaces[index].username = known?.username
            copy.spaces[index].password = known?.password
            copy.spaces[index].isOfRealm = known?.isOfRealm == true && !copy.spaces[index].isProxy ? true : nil
        }
        for index in copy.spaces.indices where copy.spaces[index].source == .helper {
            guard let demand = copy.spaces[index].demand, let username = copy.spaces[index].username else { continue }
            var given = FoundCredential(
                username: username, password: copy.spaces[index].password ?? "", source: .helper)
            given.attributes = copy.spaces[index].attributes ?? [:]
            guard isUseless(given, demand) else { continue }
            copy.spaces[index].username = nil
            copy.spaces[index].password = nil
        }
        return copy
    }

    /// The credentials that are to be stored once they have worked.
    package var unproven: [Space] {
        spaces.filter { $0.username != nil && ($0.persistence != nil || $0.source == .helper) }
    }

    /// What is settled about this server or proxy as a whole.
    package func place(of space: ProtectionSpace) -> Space? {
        let here = spaces.filter { $0.origin == space.origin && $0.isProxy == space.isProxy }
        return here.first { $0.isOfRealm != true } ?? here.first
    }

    /// The credential that the task has for a URL of this server or proxy, or had before the last question.
    /// - Parameter isRedirected: whether a redirect led to the URL.
    package func credential(
        for space: ProtectionSpace, at url: String? = nil, isRedirected: Bool = false
    ) -> Space? {
        let known = spaces.filter {
            $0.origin == space.origin && $0.isProxy == space.isProxy && $0.username != nil
        }
        return NetworkOptions.OriginCredential.index(
            among: known.map { NetworkOptions.OriginCredential($0) }, for: url, isRedirected: isRedirected
        ).map { known[$0] }
    }

    /// Whether a redirect led to this answer, of this attempt or one before.
    package func isRedirected(_ head: ResponseHead) -> Bool { head.redirects + (standing?.redirects ?? 0) > 0 }

    /// A client's answer to a challenge.
    mutating func answeredChallenge(_ question: Question, with answer: DecisionAnswer, at time: Int64?) {
        guard let space = question.protectionSpace else { return }
        switch space.method {
        case .httpBasic, .httpDigest, .ntlm, .negotiate: answered(space, with: answer, at: time)
        case .serverTrust: answeredTrust(space, key: question.key, with: answer)
        case .clientCertificate: answeredCertificate(space, with: answer)
        }
    }

    mutating func answered(_ space: ProtectionSpace, with answer: DecisionAnswer, at time: Int64? = nil) {
        guard answer.action == .useCredential, let credential = answer.credential else {
            declinesChallenges = true
            if answer.action == .rejectProtectionSpace { declinesCredentials = true }
            return
        }
        var place = take(space)
        place.forgetCredential()
        place.username = credential.username
        place.password = credential.password
        place.method = space.method == .ntlm ? .ntlm : nil
        place.demand = space
        place.persistence = credential.persistence
        place.answeredAt = time
        keep(place)
    }

    /// Removes and returns the entry of a server or proxy; those used last are at the end. A server has several if
    /// credentials are for one realm each.
    /// - Parameter sent: the entry whose credential was sent.
    mutating func take(_ space: ProtectionSpace, _ sent: Space? = nil) -> Space {
        let here = spaces.indices.filter { spaces[$0].origin == space.origin && spaces[$0].isProxy == space.isProxy }
        let known: Int? =
            switch space.method {
            case .serverTrust, .clientCertificate: here.first { spaces[$0].isOfTLS } ?? here.first
            case .httpBasic, .httpDigest, .ntlm, .negotiate:
                here.first { spaces[$0] == sent }
                    ?? here.first { spaces[$0].isOfRealm == true && spaces[$0].demand?.realm == space.realm }
                    ?? here.first { spaces[$0].isOfRealm != true }
            }
        if let known { return spaces.remove(at: known) }
        var new = Space(origin: space.origin, isProxy: space.isProxy)
        // These are true of the whole server.
        let place = place(of: space)
        (new.declinesTickets, new.declinesNegotiate) = (place?.declinesTickets, place?.declinesNegotiate)
        return new
    }

    mutating func keep(_ place: Space) {
        spaces.append(place)
        if spaces.count > Bounds.decisionSpaces { spaces.removeFirst() }
    }
}

extension SettledDecisions.Space {
    fileprivate mutating func forgetCredential() {
        (username, password, demand) = (nil, nil, nil)
        (persistence, answeredAt, source, attributes) = (nil, nil, nil, nil)
        (isOfRealm, urls) = (nil, nil)
    }

    fileprivate var isOfTLS: Bool {
        key != nil || declinesTrust != nil || certificate != nil || declinesCertificate != nil
    }
}

/// A user name and a password that answer a challenge and were found without asking a client.
package struct FoundCredential: Sendable, Hashable {
    /// The tickets of the daemon's user, whose name is not known here.
    package static let ticket = FoundCredential(username: "", password: "", source: .ticket)

    package var username: String
    package var password: String
    package var source: CredentialSource
    /// It is stored for one realm of its server.
    package var isOfRealm = false
    /// What a helper gave with the password, in the words of git's protocol.
    package var attributes: [String: String] = [:]

    package init(username: String, password: String, source: CredentialSource) {
        self.username = username
        self.password = password
        self.source = source
    }
}

extension EffectivePolicy {
    private mutating func apply(requestOf settled: SettledDecisions) {
        if let status = settled.refusedStatus {
            redirects =
                settled.isAnswered == true ? .answered(status: status, body: settled.refusedBody) : .refuse
        } else {
            redirects = asks.contains(.redirect) ? .ask : .follow
        }
        guard let standing = settled.standing else { return }
        request = standing
        cookies.crossedSites = standing.crossedSites
        network.redirectsBefore = standing.redirects
        // The standing request has fields of its own: those of the session and the task that may go there.
        if standing.redirects > 0 { sessionHeaders = [] }
        guard standing.isForeign else { return }
        sessionHeaders.removeAll { !RequestHeaders.crossesOrigins($0.name) }
        network.dropIdentity()
    }

    /// The URL of the first request.
    package func url(of spec: Boxed<TaskSpec>) -> String { request?.request.url ?? spec.wrappedValue.url ?? "" }

    /// Applies what the task's questions have settled: the standing request, TLS decisions and credentials.
    package mutating func apply(_ settled: SettledDecisions) {
        if settled.declinesChallenges {
            asks.remove(.challenge)
            network.tls?.isAsked = false
        }
        if settled.asked >= Bounds.decisions {
            asks = []
            (mayHaveCredentials, mayHaveTickets) = (false, false)
            network.tls?.isAsked = false
        }
        apply(requestOf: settled)
        let places = settled.spaces.compactMap(TLSDecisions.Place.init)
        if !places.isEmpty {
            var tls = network.tls ?? TLSDecisions(isAsked: false)
            tls.places = places
            network.tls = tls
        }
        if settled.declinesCredentials == true {
            (mayHaveCredentials, mayHaveTickets) = (false, false)
            network.declinesCredentials = true
        }
        if settled.spaces.contains(where: { $0.refusesOwn == true && !$0.isProxy }) { network.refuseOwn() }
        let known = settled.spaces.filter { $0.username != nil }
        let servers = known.filter { !$0.isProxy }.map {
            NetworkOptions.OriginCredential($0)
        }
        if !servers.isEmpty { network.answered = servers }
        guard let proxy = network.proxy, let parsed = ProtectionSpace.place(ofProxy: proxy) else { return }
        for place in settled.spaces where place.isProxy && place.origin == parsed.hostKey {
            if place.username != nil || place.refusesOwn == true { network.proxy = URLRules.withoutUserInfo(proxy) }
            if place.username != nil { network.proxyCredential = NetworkOptions.OriginCredential(place) }
        }
    }
}

extension NetworkOptions.OriginCredential {
    fileprivate init(_ space: SettledDecisions.Space) {
        self.init(origin: space.origin, username: space.username ?? "", password: space.password ?? "")
        method = space.demand?.method ?? space.method
        urls = space.isOfRealm == true ? space.urls ?? [] : nil
        isTicket = space.source == .ticket
    }
}
