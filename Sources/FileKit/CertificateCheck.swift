import CCrypto
import TransferModel

/// Checks that a PEM certificate can be used with its key, as OpenSSL will use both, before a server asks for it.
package struct CertificateCheck {
    package enum Field: String, Sendable { case certificate, key, password }

    /// The problem, and the field that must be changed; nil if there is none.
    package private(set) var fault: (field: Field, sentence: String)?

    /// - Parameters:
    ///   - certificate: PEM (RFC 7468); the client's own certificate comes first.
    ///   - key: PEM; nil if it is in `certificate`.
    ///   - password: the pass phrase of the key.
    package init(_ certificate: [UInt8], key: [UInt8]?, password: String?) {
        // OpenSSL's error queue belongs to the thread, and must not affect later calls.
        defer { ERR_clear_error() }
        guard let own = Self.reading(certificate, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
            fault = (.certificate, "holds no PEM certificate; name another file.")
            return
        }
        defer { X509_free(own) }
        let text = key ?? certificate
        guard text.contains("PRIVATE KEY-----") else {
            fault = (.key, "no private key in PEM is there; name the file that holds it.")
            return
        }
        // Without a pass phrase, OpenSSL would ask on a terminal.
        var phrase = Array((password ?? "").utf8CString)
        let opened = phrase.withUnsafeMutableBufferPointer { phrase in
            Self.reading(text) { PEM_read_bio_PrivateKey($0, nil, nil, phrase.baseAddress) }
        }
        guard let opened else {
            let isEncrypted = text.contains("ENCRYPTED")
            fault =
                isEncrypted
                ? (
                    .password,
                    "\(password == nil ? "missing: the key has one" : "it does not open the key"); give its pass phrase."
                )
                : (.key, "OpenSSL cannot read the private key; name another file.")
            return
        }
        defer { EVP_PKEY_free(opened) }
        if X509_check_private_key(own, opened) != 1 {
            fault = (.key, "it is the key of another certificate; name the one that belongs to the certificate.")
        }
    }

    private static func reading<Read>(_ text: [UInt8], _ body: (OpaquePointer?) -> Read?) -> Read? {
        text.withUnsafeBytes { text in
            guard let source = BIO_new_mem_buf(text.baseAddress, Int32(text.count)) else { return nil }
            defer { BIO_free(source) }
            return body(source)
        }
    }
}

extension [UInt8] {
    fileprivate func contains(_ word: String) -> Bool { firstRange(of: Array(word.utf8)) != nil }
}
