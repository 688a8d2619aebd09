import TransferModel

/// Lines of git's credential protocol: `key=value`, with an empty line at the end (git-credential(1), INPUT/OUTPUT
/// FORMAT).
package enum GitCredential {
    /// - Returns: nil if the protocol cannot express it: a value has a line break or NUL.
    package static func request(
        for demand: ProtectionSpace, _ username: String? = nil, _ password: String? = nil
    ) -> [UInt8]? {
        let usual = demand.protocol == "https" ? 443 : 80
        let name = demand.host.contains(":") ? "[\(demand.host)]" : demand.host
        var lines = [("protocol", demand.protocol), ("host", demand.port == usual ? name : "\(name):\(demand.port)")]
        if let username { lines.append(("username", username)) }
        if let password { lines.append(("password", password)) }
        guard !lines.contains(where: { $0.1.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 } }) else { return nil }
        return Array((lines.map { "\($0)=\($1)\n" }.joined() + "\n").utf8)
    }

    /// - Returns: nil unless the answer has a user name and a password that can be sent.
    package static func answer(_ output: [UInt8]) -> FoundCredential? {
        var username: String?
        var password: String?
        for line in output.split(separator: 10, omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")),
                let value = String(validating: line[(equals + 1)...], as: UTF8.self)
            else { continue }
            switch String(decoding: line[..<equals], as: UTF8.self) {
            case "username": username = value
            case "password": password = value
            // The helper asks that no other helper is asked either.
            case "quit" where value == "1" || value == "true": return nil
            default: break
            }
        }
        guard let username, !username.isEmpty, !username.utf8.contains(UInt8(ascii: ":")), let password,
            max(username.utf8.count, password.utf8.count) <= Bounds.secret,
            URLRules.firstControl(username) == nil, URLRules.firstControl(password) == nil
        else { return nil }
        return FoundCredential(username: username, password: password, source: .helper)
    }
}
