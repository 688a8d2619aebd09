import TransferModel

/// Reads the digest of the whole representation that a server gives: RFC 9530, the old Digest, and the fields of large
/// object stores.
package enum DigestFields {
    /// Asks for digests (RFC 9530 section 4).
    package static let want = HeaderField("Want-Repr-Digest", "sha-256=10, sha-512=9")

    /// Digests by algorithm, lower-case hexadecimal, the most trusted source first; malformed ones are ignored.
    package static func parse(_ fields: [HeaderField]) -> [DigestAlgorithm: String] {
        guard fields.contains(where: mayTell) else { return [:] }
        var found = reprDigest(values(fields, "repr-digest"))
        found.merge(oldDigest(values(fields, "digest"))) { first, _ in first }
        found.merge(amazon(fields)) { first, _ in first }
        if !isUnpacked(fields) { found.merge(google(values(fields, "x-goog-hash"))) { first, _ in first } }
        return found
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

    private static func values(_ fields: [HeaderField], _ name: String) -> String {
        fields.filter { $0.isNamed(name) }.map(\.value).joined(separator: ",")
    }

    /// A dictionary of byte sequences (RFC 8941 sections 3.2 and 3.3.5): `sha-256=:base64:;parameter`.
    private static func reprDigest(_ text: String) -> [DigestAlgorithm: String] {
        var digests: [DigestAlgorithm: String] = [:]
        for member in text.split(separator: ",") {
            guard let (name, value) = pair(member), value.hasPrefix(":") else { continue }
            let rest = value.dropFirst()
            guard let end = rest.firstIndex(of: ":") else { continue }
            let tail = rest[rest.index(after: end)...].trimmed
            guard tail.isEmpty || tail.hasPrefix(";") else { continue }
            add(name, Base64.decode(rest[..<end]), to: &digests)
        }
        return digests
    }

    /// RFC 3230: `SHA-256=base64,MD5=base64`.
    private static func oldDigest(_ text: String) -> [DigestAlgorithm: String] {
        var digests: [DigestAlgorithm: String] = [:]
        for member in text.split(separator: ",") {
            guard let (name, value) = pair(member) else { continue }
            add(name, Base64.decode(value), to: &digests)
        }
        return digests
    }

    /// Only checksums of the whole object: a composite checksum is a digest of the parts' digests.
    private static func amazon(_ fields: [HeaderField]) -> [DigestAlgorithm: String] {
        guard values(fields, "x-amz-checksum-type").uppercased() == "FULL_OBJECT" else { return [:] }
        var digests: [DigestAlgorithm: String] = [:]
        add("sha-256", Base64.decode(values(fields, "x-amz-checksum-sha256")), to: &digests)
        add("sha", Base64.decode(values(fields, "x-amz-checksum-sha1")), to: &digests)
        return digests
    }

    /// Cloud Storage gives the hash of the stored object. An object that is stored compressed and sent decompressed,
    /// because identity was requested ("decompressive transcoding"), has another hash.
    private static func isUnpacked(_ fields: [HeaderField]) -> Bool {
        let stored = values(fields, "x-goog-stored-content-encoding").trimmed.lowercased()
        guard !stored.isEmpty, stored != "identity" else { return false }
        return values(fields, "content-encoding").trimmed.lowercased() != stored
    }

    private static func google(_ text: String) -> [DigestAlgorithm: String] {
        var digests: [DigestAlgorithm: String] = [:]
        for member in text.split(separator: ",") {
            guard let (name, value) = pair(member), name == "md5" else { continue }
            add(name, Base64.decode(value), to: &digests)
        }
        return digests
    }

    private static func pair(_ member: Substring) -> (name: String, value: String)? {
        guard let equals = member.firstIndex(of: "=") else { return nil }
        return (member[..<equals].trimmed.lowercased(), member[member.index(after: equals)...].trimmed)
    }

    private static func add(_ name: String, _ bytes: [UInt8]?, to digests: inout [DigestAlgorithm: String]) {
        let algorithm: DigestAlgorithm? =
            switch name {
            case "md5": .md5
            case "sha", "sha-1": .sha1
            case "sha-256": .sha256
            case "sha-384": .sha384
            case "sha-512": .sha512
            default: nil
            }
        guard let algorithm, let bytes, bytes.count * 2 == algorithm.hexLength, digests[algorithm] == nil else {
            return
        }
        digests[algorithm] = Hex.encode(bytes)
    }
}
