import TransferModel

/// Says what is wrong with a certificate or host key that libcurl does not trust, and who can fix it.
///
/// libcurl passes on the verifier's message (X509_verify_cert_error_string(3)). Its wording differs between versions of
/// OpenSSL and GnuTLS in hyphens and in the surrounding words.
enum CertificateFailures {
    static func classify(_ message: String, host: String) -> AttemptFailure {
        let words = String(unquoted(message.lowercased(), host.lowercased()).map { $0 == "-" ? " " : $0 })
        let fault = CertificateFault.allCases.first { fault in fault.marks.contains { words.contains($0) } }
        var failure = FailureClassifier.permanent(
            .tlsUntrusted,
            fault?.sentence(host)
                ?? "The certificate or host key of \(host) is not trusted (\(message)); name the one to trust "
                + "(task.update, caFile), then task.retry.")
        if let fault { failure.error.details[CertificateFault.member] = .string(fault.rawValue) }
        return failure
    }
}

extension CertificateFailures {
    /// The message without the host and without quoted text, because names may contain any word.
    private static func unquoted(_ message: String, _ host: String) -> String {
        let words = message.split(separator: " ").filter { word in
            let word = word.drop { !$0.isLetter && !$0.isNumber }
            guard word.hasPrefix(host) else { return true }
            return word.dropFirst(host.count).first.map { $0.isLetter || $0.isNumber || $0 == "-" } ?? false
        }
        var kept = ""
        var mark: Character?
        for character in words.joined(separator: " ") {
            if mark != nil {
                if character == mark { mark = nil }
            } else if character == "\"" || character == "'" && !(kept.last?.isLetter ?? false) {
                mark = character
                kept.append(" ")
            } else {
                kept.append(character)
            }
        }
        return kept
    }
}

extension CertificateFault {
    /// Parts of the verifier's messages; the first fault with a part that occurs is the one.
    fileprivate var marks: [String] {
        switch self {
        case .notYetValid: ["not yet valid", "not activated"]
        case .expired: ["expired"]
        case .revoked: ["revoked"]
        case .wrongName: ["subject name", "does not match", "hostname mismatch", "ip address mismatch"]
        case .selfSigned: ["self signed"]
        case .unknownIssuer: ["local issuer", "issuer certificate", "unable to verify the first", "unknown ca"]
        case .weak: ["too weak", "too small"]
        }
    }

    fileprivate func sentence(_ host: String) -> String {
        switch self {
        case .notYetValid:
            "The certificate of \(host) is not valid yet. If the clock of this machine is wrong, set it; otherwise ask the "
                + "server's operator. Then task.retry."
        case .expired:
            "The certificate of \(host) has expired. If the clock of this machine is wrong, set it; otherwise the server's "
                + "operator must renew the certificate. Then task.retry."
        case .revoked:
            "The certificate of \(host) was revoked: its key may be in the wrong hands. Only the server's operator can "
                + "replace it."
        case .wrongName:
            "The server's certificate does not name \(host). Check the name in the URL; if it is right, the server's operator "
                + "must change the certificate."
        case .selfSigned:
            "The certificate of \(host) is self-signed. If you trust the server, name the certificate (task.update, caFile), "
                + "then task.retry."
        case .unknownIssuer:
            "The certificate of \(host) was issued by an authority that this machine does not trust, or the server does not send "
                + "its intermediate certificates. Name the issuer's certificate (task.update, caFile), then task.retry, or ask "
                + "the server's operator."
        case .weak:
            "The certificate of \(host) has a key or signature that is too weak to be trusted; the server's operator must "
                + "replace it."
        }
    }
}
