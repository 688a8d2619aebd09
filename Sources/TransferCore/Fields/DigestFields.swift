import TransferModel

/// Reads the digest of the whole representation that a server gives: RFC 9530, the old Digest, and the fields of large
/// object stores.
package enum DigestFields {
    /// Asks for digests (RFC 9530 section 4).
    package static let want = HeaderField("Want-Repr-Digest", "sha-256=10, sha-512=9")

    /// Digests by algorithm, lower-case hexadecimal, the most trusted source first; malformed ones are ignored.
    package static func parse(_ fields: [HeaderField]) -> [DigestAlgorithm: String] {
        guard fields.contains(where: mayTell) else { return [:] }
        let head = ResponseHead(url: "", headers: fields)
        var found: [DigestAlgorithm: String] = [:]
        for (name, value) in head.pairs("repr-digest") { add(name, byteSequence(value), to: &found) }
        // RFC 3230: `SHA-256=base64,MD5=base64`.
        for (name, value) in head.pairs("digest") { add(name, Base64.decode(value), to: &found) }
        // Only checksums of the whole object: a composite checksum is a digest of the parts' digests.
        if text("x-amz-checksum-type", head).uppercased() == "FULL_OBJECT" {
            add("sha-256", Base64.decode(text("x-amz-checksum-sha256", head)), to: &found)
            add("sha", Base64.decode(text("x-amz-checksum-sha1", head)), to: &found)
        }
        if !isUnpacked(head) {
            for (name, value) in head.pairs("x-goog-hash") where name == "md5" {
                add(name, Base64.decode(value), to: &found)
            }
        }
        return found
    }

    /// The digests of a checkpoint.
    static func named(_ digests: [String: String]) -> [DigestAlgorithm: String] {
        let known = digests.compactMap { name, value in DigestAlgorithm(rawValue: name).map { ($0, value) } }
        return Dictionary(uniqueKeysWithValues: known)
    }

    /// Without one of these fields there is no digest.
    private static let names = [
        "repr-digest", "digest", "x-amz-checksum-sha256", "x-amz-checksum-sha1", "x-goog-hash",
    ]

    private static func mayTell(_ field: HeaderField) -> Bool {
        // Few fields have names of these lengths; for the others, one comparison suffices.
        switch field.name.utf8.count {
        case 6, 11, 19, 21: names.contains { field.isNamed($0) }
        default: false
        }
    }

    private static func text(_ name: String, _ head: ResponseHead) -> String {
        head.values(name).joined(separator: ",")
    }

    /// A byte sequence in a dictionary (RFC 8941 sections 3.2 and 3.3.5): `:base64:;parameter`.
    private static func byteSequence(_ value: String) -> [UInt8]? {
        guard value.hasPrefix(":"), let end = value.dropFirst().firstIndex(of: ":") else { return nil }
        let tail = value[value.index(after: end)...].trimmed
        return tail.isEmpty || tail.hasPrefix(";") ? Base64.decode(value.dropFirst()[..<end]) : nil
    }

    /// Cloud Storage gives the hash of the stored object. An object that is stored compressed and sent decompressed,
    /// because identity was requested ("decompressive transcoding"), has another hash.
    private static func isUnpacked(_ head: ResponseHead) -> Bool {
        let stored = text("x-goog-stored-content-encoding", head).trimmed.lowercased()
        guard !stored.isEmpty, stored != "identity" else { return false }
        return text("content-encoding", head).trimmed.lowercased() != stored
    }

    private static let algorithms: [String: DigestAlgorithm] = [
        "md5": .md5, "sha": .sha1, "sha-1": .sha1, "sha-256": .sha256, "sha-384": .sha384, "sha-512": .sha512,
    ]

    private static func add(_ name: String, _ bytes: [UInt8]?, to digests: inout [DigestAlgorithm: String]) {
        guard let algorithm = algorithms[name], let bytes, bytes.count * 2 == algorithm.hexLength,
            digests[algorithm] == nil
        else { return }
        digests[algorithm] = Hex.encode(bytes)
    }
}
