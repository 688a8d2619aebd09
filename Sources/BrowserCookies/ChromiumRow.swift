import CCrypto
import TransferModel

/// A row of `cookies`.
/// Source: net/extras/sqlite/sqlite_persistent_cookie_store.cc and components/os_crypt/sync/os_crypt_linux.cc of Chromium.
struct ChromiumRow {
    static let query = """
        SELECT host_key, name, value, path, expires_utc, is_secure, is_httponly, samesite, encrypted_value, has_expires, \
        top_frame_site_key FROM cookies ORDER BY creation_utc
        """

    private let row: DatabaseCopy.Row
    private let version: Int64

    /// - Parameter version: the version of the database. From 24 on, the digest of its host precedes the value.
    init(_ row: DatabaseCopy.Row, _ version: Int64) {
        self.row = row
        self.version = version
    }

    var cookie: Result<Cookie, CookieRefusal> {
        guard row.text(10).isEmpty else {
            return .failure(CookieRefusal(why: "it belongs to another site's page (\(row.text(10)))"))
        }
        return value.map { value in
            Cookie(
                name: row.text(1), domain: row.text(0), value: value, path: row.text(3),
                expires: row.integer(9) != 0 ? Timestamp(milliseconds: milliseconds) : nil,
                secure: row.integer(5) != 0, httpOnly: row.integer(6) != 0, sameSite: row.integer(7))
        }
    }

    /// Chromium counts microseconds since 1601.
    private var milliseconds: Int64 { row.integer(4) / 1000 - 11_644_473_600_000 }

    private var value: Result<String, CookieRefusal> {
        let coded = row.bytes(8)
        if coded.isEmpty { return row.value(2) }
        switch String(decoding: coded.prefix(3), as: UTF8.self) {
        case "v10":
            guard var plain = Self.decrypted(Array(coded.dropFirst(3))) else {
                return .failure(CookieRefusal(why: "its value cannot be decrypted: it is damaged"))
            }
            if version >= 24 {
                guard plain.starts(with: Self.digest(row.bytes(0))) else {
                    return .failure(CookieRefusal(why: "its value is that of another domain's cookie"))
                }
                plain.removeFirst(32)
            }
            guard let text = String(validating: plain, as: UTF8.self) else {
                return .failure(CookieRefusal(why: "its value is not text"))
            }
            return .success(text)
        case "v11":
            return .failure(CookieRefusal(why: "its value is encrypted with a key of the desktop's keyring"))
        default: return .failure(CookieRefusal(why: "its value is encrypted in a way that dlctl does not know"))
        }
    }

    /// SHA-256.
    private static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        return digest
    }

    /// Decrypts AES-128-CBC with the fixed key that Chromium uses without a keyring. It hides the value from nobody.
    private static func decrypted(_ bytes: [UInt8]) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: 16)
        let salt = Array("saltysalt".utf8)
        guard PKCS5_PBKDF2_HMAC("peanuts", 7, salt, Int32(salt.count), 1, EVP_sha1(), 16, &key) == 1,
            !bytes.isEmpty, let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let vector = [UInt8](repeating: 0x20, count: 16)
        var plain = [UInt8](repeating: 0, count: bytes.count + 16)
        var (count, rest): (Int32, Int32) = (0, 0)
        guard EVP_DecryptInit_ex(context, EVP_aes_128_cbc(), nil, key, vector) == 1,
            EVP_DecryptUpdate(context, &plain, &count, bytes, Int32(bytes.count)) == 1,
            plain.withUnsafeMutableBufferPointer({ buffer in
                buffer.baseAddress.map { EVP_DecryptFinal_ex(context, $0 + Int(count), &rest) } ?? 0
            }) == 1
        else { return nil }
        return Array(plain.prefix(Int(count + rest)))
    }
}
