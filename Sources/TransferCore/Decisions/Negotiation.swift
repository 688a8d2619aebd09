import TransferModel

/// Why a request was sent without its Kerberos token, or was refused with it.
package struct KerberosFailure: Sendable, Hashable, Error {
    /// Kerberos's message.
    package var reason: String
    /// The realm does not know the user, the password is wrong, or the server refused the token.
    package var isRefusal: Bool

    package init(_ reason: String, isRefusal: Bool = false) {
        self.reason = reason
        self.isRefusal = isRefusal
    }
}

/// The scheme Negotiate (RFC 4559): the fields of requests, and the meaning of refusals.
package enum Negotiation {
    /// The value of Authorization or Proxy-Authorization.
    /// - Parameter token: a Kerberos token (RFC 4121 section 4.1).
    package static func field(_ token: [UInt8]) -> String { "Negotiate " + initial(token).base64 }

    /// Why the server or proxy that sent this answer was not satisfied.
    package static func failure(_ head: ResponseHead) -> KerberosFailure {
        if let failure = head.kerberosFailure { return failure }
        let challenges = AuthenticationChallenge.all(head.headers, isProxy: head.status == 407)
        let goesOn = challenges.contains { $0.scheme == "negotiate" && $0.hasToken }
        return KerberosFailure(
            goesOn
                ? "It does not accept the ticket alone, and wants a dialogue, which dld does not support"
                : "It does not accept the ticket", isRefusal: true)
    }

    /// Wraps a Kerberos token in the first token of SPNEGO (RFC 4178 section 4.2.1), framed as in RFC 2743 section 3.1.
    /// Kerberos is the only mechanism that is offered, so one message is enough.
    static func initial(_ token: [UInt8]) -> [UInt8] {
        let mechanisms = element(0xA0, element(0x30, kerberos))
        let initial = element(0xA0, element(0x30, mechanisms + element(0xA2, element(0x04, token))))
        return element(0x60, spnego + initial)
    }

    /// The object identifiers 1.3.6.1.5.5.2 and 1.2.840.113554.1.2.2, encoded.
    private static let spnego: [UInt8] = [6, 6, 0x2B, 6, 1, 5, 5, 2]
    private static let kerberos: [UInt8] = [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2]

    /// Encodes an element (X.690 section 8.1).
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
        var length: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            length.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}
