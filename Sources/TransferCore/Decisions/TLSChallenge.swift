import TransferModel

/// What a TLS server showed or wanted in a handshake that was ended before any byte of the request was sent.
package struct TLSChallenge: Sendable, Hashable {
    package enum Wish: Sendable, Hashable {
        /// Trust, although verification fails.
        /// - Parameters:
        ///   - key: as CURLOPT_PINNEDPUBLICKEY(3) takes it: `sha256//` and the digest of the public key in Base64.
        ///   - reason: the verifier's message.
        ///   - isAnother: a client already trusts another key of this server.
        ///   - certificates: DER, as the server sent them, its own first.
        case trust(key: String, reason: String, isAnother: Bool, certificates: [[UInt8]])
        /// A client certificate.
        /// - Parameter authorities: DER names (RFC 5280 section 4.1.2.4) of the authorities whose certificates the
        ///   server accepts; may be empty.
        case certificate(authorities: [[UInt8]])
    }

    /// As `https://example.org:443`.
    package var origin: String
    package var wish: Wish

    package init(origin: String, _ wish: Wish) {
        self.origin = origin
        self.wish = wish
    }

    /// The server in question; nil if the origin cannot be read.
    var space: ProtectionSpace? {
        guard let place = try? URLRules.parse(origin), let port = place.port else { return nil }
        let method: AuthenticationMethod =
            switch wish {
            case .trust: .serverTrust
            case .certificate: .clientCertificate
            }
        return ProtectionSpace(
            host: place.host, port: port, protocol: place.scheme.rawValue, realm: nil, method: method, isProxy: false)
    }
}

/// What clients have decided of TLS servers, for one attempt.
package struct TLSDecisions: Sendable, Hashable {
    package struct Place: Sendable, Hashable {
        /// As `https://example.org:443`.
        package var origin: String
        /// Keys that are trusted there regardless of verification, in the form of `TrustedKey`.
        package var key: String?
        /// The certificate shown there; `texts` has the content of its files.
        package var certificate: ClientCertificate?
        package var texts = CertificateTexts()
        /// The handshake continues without a certificate if the server wants one.
        package var showsNone = false

        package init(origin: String, key: String? = nil) {
            self.origin = origin
            self.key = key
        }

        /// nil if nothing about TLS is settled.
        init?(_ space: SettledDecisions.Space) {
            guard !space.isProxy, space.key != nil || space.certificate != nil || space.declinesCertificate == true
            else { return nil }
            origin = space.origin
            key = space.key
            certificate = space.certificate
            showsNone = space.declinesCertificate == true
        }
    }

    /// A client is asked; if false, only verification decides.
    package var isAsked: Bool
    package var places: [Place] = []

    package init(isAsked: Bool) { self.isAsked = isAsked }
}

extension SettledDecisions {
    /// A TLS server wants something that verification or the task's specification does not give.
    /// - Returns: the question; nil if the client is not asked again.
    package mutating func challenged(_ challenge: TLSChallenge) -> Question? {
        guard let space = challenge.space, !declinesChallenges, asked < Bounds.decisions else { return nil }
        let place = take(space)
        defer { keep(place) }
        var question = Question(.challenge, default: .wait)
        question.protectionSpace = space
        switch challenge.wish {
        case .trust(let key, let reason, let isAnother, let certificates):
            guard place.declinesTrust != true else { return nil }
            question.default = .reject
            question.key = key
            question.reason = isAnother ? "the pinned key has changed (\(reason))" : reason
            question.keyChanged = isAnother
            question.certificates = certificates.map(\.base64)
        case .certificate(let authorities):
            guard place.declinesCertificate != true, place.certificate == nil else { return nil }
            question.distinguishedNames = authorities.map(\.base64)
        }
        asked += 1
        return question
    }

    /// A client's answer to the question whether to trust a server.
    mutating func answeredTrust(_ space: ProtectionSpace, key: String?, with answer: DecisionAnswer) {
        var place = take(space)
        place.key = answer.action == .trust ? TrustedKey.list(place.key, adding: key) : nil
        place.declinesTrust = answer.action == .trust ? nil : true
        keep(place)
    }

    /// A client's answer to a server that wants a certificate.
    mutating func answeredCertificate(_ space: ProtectionSpace, with answer: DecisionAnswer) {
        var place = take(space)
        place.certificate = answer.action == .useCredential ? answer.credential?.clientCertificate : nil
        place.declinesCertificate = place.certificate == nil ? true : nil
        keep(place)
    }

    /// A copy with the keys that the task's session trusts.
    package func adding(_ trusted: [TrustedKey]) -> SettledDecisions {
        var copy = self
        for trust in trusted {
            if let known = copy.spaces.firstIndex(where: { $0.origin == trust.origin && !$0.isProxy }) {
                copy.spaces[known].key = TrustedKey.list(trust.key, adding: copy.spaces[known].key)
            } else {
                var place = Space(origin: trust.origin, isProxy: false)
                place.key = trust.key
                copy.spaces.append(place)
            }
        }
        return copy
    }
}
