import TransferCore
import TransferModel

/// The hosts that a task must reach over https alone (RFC 6797). Its methods are called on any thread and must not
/// block.
package protocol HSTSKeeping: AnyObject, Sendable {
    /// Whether a host must be reached over https alone (section 8.2).
    func isKnown(_ host: String) -> Bool
    /// Takes the first Strict-Transport-Security field of an answer over TLS, from a server whose certificate was
    /// verified.
    func receive(_ field: String, from host: String)
}

extension Transfer {
    /// Learns from the complete header of a response, if it came from the server itself (not a proxy) and the
    /// certificate was verified (section 8.1). Answers over http do not count, and neither do those of a server whose
    /// key a client trusts, because that key proves no name.
    func learnHost() {
        guard let hsts = context.hsts, request.url.scheme == "https", parser.status != 407, trustedKey == nil,
            let index = parser.headers.firstIndex(named: "strict-transport-security")
        else { return }
        hsts.receive(parser.headers[index].value, from: request.url.host)
    }

    /// The key that a client trusts instead of verification; nil for a known host (section 8.4).
    var trustedKey: String? {
        request.isKnownHost ? nil : exchange.network.tls?.place(of: request.url)?.key
    }
}
