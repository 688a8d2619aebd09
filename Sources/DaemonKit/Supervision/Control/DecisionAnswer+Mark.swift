import FileKit
import TransferModel
import TransferRPC

/// Recognises a repeated answer after its secrets are forgotten, by a salted digest (SHA-256) of the whole answer.
extension DecisionAnswer {
    /// Returns the answer without its secrets.
    func redacted(salt: UInt64 = .random(in: .min ... .max)) throws -> DecisionAnswer {
        var answer = withoutSecrets
        guard answer != self else { return self }
        let hasher = try FileHasher([.sha256])
        let bytes = Array(String(salt, radix: 16).utf8) + WireCoding.encode(self)
        bytes.withUnsafeBytes { hasher.update($0) }
        answer.mark = "\(String(salt, radix: 16)):\(hasher.finish()[.sha256] ?? "")"
        return answer
    }

    /// - Parameter stored: possibly without its secrets.
    func isSame(as stored: DecisionAnswer) -> Bool {
        guard let salt = stored.mark.flatMap({ UInt64($0.prefix { $0 != ":" }, radix: 16) }) else {
            return self == stored
        }
        return (try? redacted(salt: salt)) == stored
    }
}
