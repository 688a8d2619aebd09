import CCrypto
import FoundationEssentials

/// Random texts that nobody guesses, and what is computed from them.
enum Secret {
    /// `bits` from the kernel's generator (getrandom(2)), in the alphabet of base64url (RFC 4648 section 5).
    static func random(bits: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return base64url((0..<bits / 8).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    /// SHA-256.
    static func digest(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        return base64url(digest)
    }

    /// HMAC with SHA-256 (RFC 2104).
    static func code(_ text: String, key: String) -> String {
        let (bytes, key) = (Array(text.utf8), Array(key.utf8))
        var code = [UInt8](repeating: 0, count: 32)
        var length = 0
        EVP_Q_mac(nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &code, code.count, &length)
        return base64url(code)
    }

    /// Compares in a time that tells nothing about where the texts differ.
    static func equal(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        return one.count == other.count && zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func base64url(_ bytes: [UInt8]) -> String {
        String(
            Data(bytes).base64EncodedString().compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
