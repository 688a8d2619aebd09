import TransferCore
import TransferModel

/// Requests with Kerberos tokens (RFC 4559). Each request gets its own token, because a server accepts no token twice.
extension Reactor {
    /// How long a request waits for a realm, in nanoseconds.
    static let tokenPatience: Int64 = 20_000_000_000

    /// The tokens that a request needs: for its server, its proxy, or both.
    private func wantedTokens(_ transfer: Transfer) -> [(isProxy: Bool, host: String, login: Kerberos.Login)] {
        var wanted: [(isProxy: Bool, host: String, login: Kerberos.Login)] = []
        if let known = transfer.request.credentials, known.method == .negotiate {
            let login = known.isTicket ? Kerberos.Login.tickets : .password(user: known.user, known.password)
            wanted.append((false, transfer.request.url.host, login))
        }
        if let known = transfer.exchange.$network.wrappedValue.proxyCredential, known.method == .negotiate,
            let host = CurlURL(known.origin)?.host
        {
            let login = known.isTicket ? Kerberos.Login.tickets : .password(user: known.username, known.password)
            wanted.append((true, host, login))
        }
        return wanted
    }

    /// - Returns: false if the request needs no token. Otherwise it is sent once Kerberos has answered.
    func awaitsTokens(_ transfer: Transfer) -> Bool {
        let wanted = wantedTokens(transfer)
        guard !wanted.isEmpty else {
            transfer.tokens = nil
            return false
        }
        transfer.request.token = nil
        transfer.tokens = TokenWait(since: now, places: wanted.map(\.isProxy))
        guard let kerberos else {
            heard(wanted.map { _ in .failure(KerberosFailure("it is not set up")) }, transfer, since: now)
            return true
        }
        let since = now
        kerberos.make(wanted.map { ($0.host, $0.login) }, for: transfer.context.session.owner) { [weak self] made in
            self?.post(.tokens(transfer, since: since, made))
        }
        return true
    }

    /// Kerberos has answered. Without a token, the request is sent as it is; the server's refusal then says what it
    /// accepts.
    func heard(_ made: [Result<String, KerberosFailure>], _ transfer: Transfer, since: Int64) {
        guard transfers.contains(transfer), transfer.tokens?.since == since, transfer.tokens?.isOver == false,
            let places = transfer.tokens?.places
        else { return }
        transfer.tokens?.isOver = true
        for (isProxy, result) in zip(places, made) {
            switch result {
            case .success(let field) where isProxy: transfer.tokens?.proxyField = field
            case .success(let field): transfer.request.token = field
            case .failure(let failure) where isProxy: transfer.tokens?.proxyFailure = failure
            case .failure(let failure): transfer.tokens?.failure = failure
            }
        }
        transmit(transfer)
    }

    /// - Returns: whether the transfer waits for Kerberos.
    func watchTokens(_ transfer: Transfer) -> Bool {
        guard let tokens = transfer.tokens, !tokens.isOver else { return false }
        if now - tokens.since > Self.tokenPatience {
            let failure = KerberosFailure(
                "No server of the realm answers within \(Self.tokenPatience / 1_000_000_000) s")
            heard(tokens.places.map { _ in .failure(failure) }, transfer, since: tokens.since)
        }
        return true
    }
}

/// The tokens that a transfer waits for, and Kerberos's answer for its current request. The token for the server is in
/// the request.
struct TokenWait: Sendable {
    /// When the wait began. It identifies the wait.
    let since: Int64
    /// The recipient of each token, in order: false for the server, true for the proxy.
    let places: [Bool]
    var isOver = false
    var proxyField: String?
    var failure: KerberosFailure?
    var proxyFailure: KerberosFailure?

    init(since: Int64, places: [Bool]) {
        self.since = since
        self.places = places
    }
}
