import TransferModel

/// Lines of git's credential protocol: `key=value`, with an empty line at the end (git-credential(1), INPUT/OUTPUT
/// FORMAT).
package enum GitCredential {
    /// Attributes that belong to a password. A helper that gave them gets them back with `store`; otherwise, it would store the
    /// password without them.
    private static let kept: Set<String> = ["password_expiry_utc", "oauth_refresh_token", "ephemeral"]

    /// - Parameter attributes: what the helper gave with the password.
    /// - Returns: nil if the protocol cannot express it: a value has a line break or NUL.
    package static func request(
        for demand: ProtectionSpace, _ username: String? = nil, _ password: String? = nil,
        attributes: [String: String] = [:]
    ) -> [UInt8]? {
        let usual = demand.protocol == "https" ? 443 : 80
        let name = demand.host.contains(":") ? "[\(demand.host)]" : demand.host
        var lines = [("protocol", demand.protocol), ("host", demand.port == usual ? name : "\(name):\(demand.port)")]
        if let username { lines.append(("username", username)) }
        if let password { lines.append(("password", password)) }
        lines += attributes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        guard !lines.contains(where: { $0.1.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 } }) else { return nil }
        return Array((lines.map { "\($0)=\($1)\n" }.joined() + "\n").utf8)
    }

    /// Whether the password may not be used any more. An end that is no positive number is none, as for git.
    package static func isExpired(_ attributes: [String: String], at now: Timestamp) -> Bool {
        guard let text = attributes["password_expiry_utc"], let end = Int64(text), end > 0 else { return false }
        return end < now.rawValue / 1000
    }

    /// Reads a program's output for `get`.
    package static func answer(_ output: [UInt8], at now: Timestamp) -> HelperAnswer {
        guard !output.allSatisfy({ $0 == 10 || $0 == 13 }) else { return .nothing }
        var isRead = false
        var username: String?
        var password: String?
        var attributes: [String: String] = [:]
        for line in output.split(separator: 10, omittingEmptySubsequences: false) {
            // Programs of other systems end lines with CR and LF.
            let line = line.last == 13 ? line.dropLast() : line
            if line.isEmpty { break }
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")),
                let value = String(validating: line[(equals + 1)...], as: UTF8.self)
            else { continue }
            isRead = true
            let key = String(decoding: line[..<equals], as: UTF8.self)
            switch key {
            case "username": username = value
            case "password": password = value
            // The helper demands that no other helper is asked.
            case "quit" where value == "1" || value == "true": return .nothing
            case _ where kept.contains(key): attributes[key] = value
            default: break
            }
        }
        guard isRead else { return .failed("Its output has other lines than key=value.") }
        guard let username, !username.isEmpty, let password else {
            return .failed("It gave \(username?.isEmpty == false ? "no password" : "no user name").")
        }
        guard !username.utf8.contains(UInt8(ascii: ":")),
            max(username.utf8.count, password.utf8.count) <= Bounds.secret,
            URLRules.firstControl(username) == nil, URLRules.firstControl(password) == nil
        else {
            return .failed(
                "It gave a user name or password that cannot be sent: too long, with control characters, or a user name "
                    + "with a colon.")
        }
        guard !isExpired(attributes, at: now) else { return .failed("It gave a password that has expired.") }
        var found = FoundCredential(username: username, password: password, source: .helper)
        found.attributes = attributes.filter { $1.utf8.count <= Bounds.secret && URLRules.firstControl($1) == nil }
        return .credential(found)
    }
}

/// The answer of the program of `credentialHelper` to a demand.
package enum HelperAnswer: Hashable, Sendable {
    case credential(FoundCredential)
    case nothing
    /// The text is a sentence about the program that gives the reason.
    case failed(String)

    package var credential: FoundCredential? { if case .credential(let found) = self { found } else { nil } }
}
