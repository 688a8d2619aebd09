import NIOHTTP1

/// Decides whether a request may pass: who sends it, to which name, from which page, and with which session. It decides
/// before anything else is looked at, and costs no call to the daemon.
///
/// A browser's page of another site can send requests here, and another user of the machine can connect to a loopback
/// port. The peer check keeps out the users, `Host` keeps out names that an attacker points to this address (DNS
/// rebinding), `Origin` and `Sec-Fetch-Site` (Fetch Metadata) keep out other sites, and cookie and token do so once more.
struct Gate: Sendable {
    /// What may change while the program runs.
    struct Rules: Hashable, Sendable {
        /// The user of this process.
        var own: UInt32
        /// `--allow-peer`: they may connect, and say what a proxy says. They may include `own`.
        var allowed: Set<UInt32> = []
        /// `--metrics-peer`.
        var metrics: Set<UInt32> = []
        /// `--host`: lower-case names, some with a port.
        var hosts: Set<String> = []
        var port: Int
        /// The right one for `/metrics` in place of a user; nil if there is none.
        var bearer: String?
    }

    /// Who is at the other end.
    enum Peer: Hashable, Sendable {
        case user(UInt32)
        /// The connection came over a network, to an address that `--listen` names.
        case remote
        /// The connection is local, but its other end has gone.
        case unknown
    }

    var rules: Rules
    var peer: Peer

    /// The checks that every request and upgrade must pass, in order.
    /// - Returns: what a proxy says, and the path without its prefix.
    /// - Throws: the first refusal.
    func pass(_ head: HTTPRequestHead, _ target: WebTarget) throws(WebRefusal) -> (
        forwarded: WebRequest.Forwarded, path: String
    ) {
        let forwarded = try forwarded(head.headers)
        var path = target.path
        if !forwarded.prefix.isEmpty, path.hasPrefix(forwarded.prefix + "/") {
            path = String(path.dropFirst(forwarded.prefix.count))
        }
        guard mayConnect(path, head.headers) else { throw .foreignUser }
        let host = try host(head.headers)
        let origins = head.headers["Origin"]
        guard origins.allSatisfy({ isOwn($0, host, forwarded) }) else { throw .foreignOrigin }
        let sites = head.headers["Sec-Fetch-Site"].map { $0.lowercased() }
        if sites.contains("cross-site") || sites.contains("same-site") {
            let navigates = head.headers["Sec-Fetch-Mode"].map { $0.lowercased() } == ["navigate"]
            guard navigates, head.method == .GET, path == "/" || path == "/login" else { throw .foreignOrigin }
        }
        return (forwarded, path)
    }

    private func mayConnect(_ path: String, _ headers: HTTPHeaders) -> Bool {
        switch path {
        case "/healthz": true
        case "/metrics": isUser(in: rules.metrics.union([rules.own])) || hasBearer(headers)
        default: isAllowed
        }
    }

    /// The peer may have more than figures. Others get one answer for each connection, so that they cannot hold all of them.
    var isAllowed: Bool {
        switch peer {
        case .user(let user): user == rules.own || rules.allowed.contains(user)
        case .remote: true
        case .unknown: false
        }
    }

    private func isUser(in users: Set<UInt32>) -> Bool {
        if case .user(let user) = peer { users.contains(user) } else { false }
    }

    private func hasBearer(_ headers: HTTPHeaders) -> Bool {
        guard let bearer = rules.bearer else { return false }
        return headers["Authorization"].contains { value in
            let parts = value.split(separator: " ", maxSplits: 1)
            return parts.count == 2 && parts[0].lowercased() == "bearer" && Secret.equal(String(parts[1]), bearer)
        }
    }

    /// The name that the request is for: exactly one, and one of ours (RFC 9112 section 3.2).
    private func host(_ headers: HTTPHeaders) throws(WebRefusal) -> String {
        let given = headers["Host"]
        guard given.count == 1, let named = given.first?.lowercased(), isOwnName(named) else { throw .misdirected }
        let outside = isProxy ? headers["X-Forwarded-Host"] : []
        guard let name = outside.first?.lowercased() else { return named }
        guard outside.count == 1, isNamed(name) else { throw .misdirected }
        return name
    }

    private func isOwnName(_ host: String) -> Bool {
        ["127.0.0.1", "[::1]", "localhost"].contains { host == "\($0):\(rules.port)" || rules.port == 80 && host == $0 }
            || isNamed(host)
    }

    /// A name of `--host`, with its port, or with this program's if it has none.
    private func isNamed(_ host: String) -> Bool {
        if rules.hosts.contains(host) { return true }
        let suffix = ":\(rules.port)"
        return host.hasSuffix(suffix) && rules.hosts.contains(String(host.dropLast(suffix.count)))
    }

    private func isOwn(_ origin: String, _ host: String, _ forwarded: WebRequest.Forwarded) -> Bool {
        origin.lowercased() == (forwarded.isSecure ? "https://" : "http://") + host
    }

    private var isProxy: Bool { isUser(in: rules.allowed) }

    private func forwarded(_ headers: HTTPHeaders) throws(WebRefusal) -> WebRequest.Forwarded {
        var forwarded = WebRequest.Forwarded()
        guard isProxy else { return forwarded }
        for name in ["X-Forwarded-Prefix", "X-Forwarded-Proto"] where headers[name].count > 1 {
            throw .malformed("\(name) is there twice.")
        }
        if let prefix = headers["X-Forwarded-Prefix"].first {
            // It becomes the path of a cookie.
            let isPlain = prefix.utf8.allSatisfy { Self.plain.contains($0) }
            guard isPlain, prefix.hasPrefix("/"), !prefix.contains("//"), !prefix.contains("..") else {
                throw .malformed("X-Forwarded-Prefix is not a plain path.")
            }
            forwarded.prefix = prefix.hasSuffix("/") ? String(prefix.dropLast()) : prefix
        }
        forwarded.isSecure = headers["X-Forwarded-Proto"].first?.lowercased() == "https"
        return forwarded
    }

    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~/-".utf8)
}
