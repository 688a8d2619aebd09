import TransferCore
import TransferModel

/// WWW-Authenticate fields: they give a limited list of schemes, and a realm that can be shown as it is.
struct ChallengeProbe: Probe {
    var spaces: @Sendable ([HeaderField]) -> [ProtectionSpace]

    static let target = FuzzTarget(
        "challenge",
        words: [
            "Basic ", "Digest ", "NTLM ", "Negotiate ", "realm=", "\"a, b\"", "nonce=\"n\"", "TlRMTVNTUAAC==", ", ",
            "=",
            "\"", "\\", "\u{202E}", "realm = \"x\"", "BASIC", ",,",
        ],
        ChallengeProbe {
            ProtectionSpace.demands(status: 401, headers: $0, url: "https://example.org/a", proxy: nil)
        },
        // A realm is reported as the server wrote it.
        planted: ChallengeProbe { fields in
            let spaces = ProtectionSpace.demands(
                status: 401, headers: fields, url: "https://example.org/a", proxy: nil)
            return spaces.map { space in
                var space = space
                space.realm = space.realm.map { $0 + "\u{202E}" }
                return space
            }
        })

    func check(_ input: [UInt8]) throws {
        let fields = input.split(separator: 10).map { HeaderField("WWW-Authenticate", fieldValue(Array($0))) }
        for field in fields {
            let challenges = AuthenticationChallenge.parse(field.value)
            try hold(challenges.count <= 16, "\(challenges.count) challenges")
            try hold(
                challenges.allSatisfy { !$0.scheme.isEmpty && !$0.scheme.contains { " ,=\"".contains($0) } },
                "\(shown(field.value)) has a scheme that is no token")
        }
        let spaces = self.spaces(fields)
        try hold(spaces.count <= 4 && Set(spaces.map(\.method)).count == spaces.count, "\(spaces.map(\.method))")
        for space in spaces { try check(space) }
        var head = ResponseHead(url: "https://example.org/a", status: 401, headers: fields)
        try hold(Negotiation.failure(head).isRefusal, "a refused token is no refusal")
        head.kerberosFailure = KerberosFailure("x")
        try hold(Negotiation.failure(head).reason == "x", "a server speaks for Kerberos")
    }

    private func check(_ space: ProtectionSpace) throws {
        try hold(space.origin == "https://example.org:443" && !space.isProxy, "another origin: \(space.origin)")
        let realm = (space.realm ?? "").unicodeScalars
        try hold(realm.count <= 256, "a realm of \(realm.count)")
        try hold(
            !realm.contains { $0.value < 0x20 || $0.value == 0x7F || (0x202A...0x202E).contains($0.value) },
            "\(shown(String(realm))) is not to be shown")
    }
}
