import TransferCore
import TransferModel

/// Output of a credential helper: it gives a user name and a password that can be sent, or nothing, and no value of a
/// request to the helper becomes a line of its own.
struct GitCredentialProbe: Probe {
    var answer: @Sendable ([UInt8]) -> FoundCredential?

    private static let now = Timestamp(milliseconds: 1_700_000_000_000)

    static let target = FuzzTarget(
        "git-credential",
        words: [
            "username=", "password=", "protocol=https", "host=a.org", "quit=1", "quit=true", "\n", "\n\n", "\r\n", "=",
            ":", "\0", "\u{7F}", "\u{301}", "url=", "capability[]=authtype", "password_expiry_utc=1",
            "password_expiry_utc=2000000000",
            "oauth_refresh_token=", "ephemeral=1",
        ],
        GitCredentialProbe { GitCredential.answer($0, at: now).credential },
        // A user name with a colon is cut by the reader of Basic.
        planted: GitCredentialProbe { output in
            GitCredential.answer(output, at: now).credential
                ?? (output.contains(UInt8(ascii: ":"))
                    ? FoundCredential(username: "a:b", password: "c", source: .helper) : nil)
        })

    func check(_ input: [UInt8]) throws {
        if let found = answer(input) {
            try hold(!found.username.isEmpty && !found.username.utf8.contains(UInt8(ascii: ":")), "a name for nobody")
            for text in [found.username, found.password] + found.attributes.values {
                try hold(text.utf8.count <= Bounds.secret, "\(text.utf8.count) bytes")
                try hold(!text.utf8.contains { $0 < 32 || $0 == 127 }, "\(shown(text)) is sent")
            }
            try hold(found.source == .helper, "it is not of the helper")
        }
        // The request to the helper: the realm is a text from the server.
        let text = String(decoding: input, as: UTF8.self)
        let demand = ProtectionSpace(
            host: "a.org", port: 8443, protocol: "https", realm: text, method: .httpBasic, isProxy: false)
        guard let request = GitCredential.request(for: demand, text, text) else { return }
        let lines = request.split(separator: 10, omittingEmptySubsequences: false)
        try hold(lines.count == 6 && lines[4].isEmpty && lines[5].isEmpty, "\(lines.count) lines")
        let keys = ["protocol=", "host=", "username=", "password="]
        for (line, key) in zip(lines, keys) { try hold(line.starts(with: key.utf8), "another key than \(key)") }
        try hold(Array(lines[1]) == Array("host=a.org:8443".utf8), "it is asked about another host")
    }
}
