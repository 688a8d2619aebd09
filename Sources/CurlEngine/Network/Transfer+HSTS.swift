import TransferCore
import TransferModel

/// The hosts that a task reaches over https alone (RFC 6797). It is called on any thread and must not block.
package protocol HSTSKeeping: AnyObject, Sendable {
    /// Whether that is so of a host (section 8.2).
    func isKnown(_ host: String) -> Bool
    /// The first Strict-Transport-Security field of an answer that came over TLS, with a certificate that was verified.
    func receive(_ field: String, from host: String)
}

extension Transfer {
    /// Learns from a response that is complete but for its body, if it is the server's own, and its certificate was verified
    /// (section 8.1). What came over http counts for nothing, and a key that a client trusts proves no name.
    func learnHost() {
        guard let hsts = context.hsts, request.url.scheme == "https", parser.status != 407, trustedKey == nil,
            let index = parser.headers.firstIndex(named: "strict-transport-security")
        else { return }
        hsts.receive(parser.headers[index].value, from: request.url.host)
    }

    /// The key that a client trusts in place of verification. There is none for a host that is known (section 8.4).
    var trustedKey: String? {
        request.isKnownHost ? nil : exchange.network.tls?.place(of: request.url)?.key
    }
}
