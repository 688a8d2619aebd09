import TransferModel

/// The files that a Metalink document names, with their mirrors and digests.
///
/// It supports Metalink 4 (RFC 5854), and version 3, which mirror services of distributions still send.
package struct Metalink: Hashable, Sendable {
    /// One `file` element.
    package struct File: Hashable, Sendable {
        /// A relative path that stays below its folder.
        package var name: String
        package var size: ByteCount?
        /// Strongest first if several are given.
        package var checksums: [Checksum] = []
        package var pieces: PieceDigests?
        /// Mirrors, preferred ones first.
        package var urls: [String] = []

        package init(name: String) { self.name = name }
    }

    package var files: [File]

    /// - Throws: `MetalinkError` with the line, or with the file and its problem.
    package init(_ bytes: [UInt8]) throws(MetalinkError) {
        let root: XMLElement
        do throws(XMLMalformed) {
            root = try XMLReader.read(bytes)
        } catch {
            throw MetalinkError(problem: error.description)
        }
        switch root.name {
        case .init(namespace: Self.version4, local: "metalink"):
            files = try root.all("file").map { (element) throws(MetalinkError) in try MetalinkVersion4.file(element) }
        case .init(namespace: Self.version3, local: "metalink"):
            let elements = root.all("files").flatMap { $0.all("file") }
            files = try elements.map { (element) throws(MetalinkError) in try MetalinkVersion3.file(element) }
        default:
            throw MetalinkError(problem: "<\(root.name.local)> is not a Metalink document")
        }
        guard !files.isEmpty else { throw MetalinkError(problem: "it names no file") }
    }

    private static let version4 = "urn:ietf:params:xml:ns:metalink"
    private static let version3 = "http://www.metalinker.org/"
}

extension Metalink.File {
    /// Sets all members of a task that the document tells; where the file goes is for the caller to say.
    package func fill(_ spec: inout TaskSpec) {
        spec.url = urls.first
        let mirrors = urls.dropFirst().prefix(Bounds.mirrors)
        spec.mirrors = mirrors.isEmpty ? nil : Array(mirrors)
        spec.checksum = checksums.first
        spec.size = size
        spec.pieces = pieces
    }
}

/// Why a Metalink document is refused.
package struct MetalinkError: Error, Hashable, Sendable, CustomStringConvertible {
    package var problem: String
    package var description: String { problem }
}

/// The rules of both versions: names stay in their folder, and digests have the right length.
enum MetalinkRules {
    /// RFC 5854 section 4.1.2.1: no absolute path, no `..`, no drive. Nor is a file hidden: `.bashrc` would be run.
    static func name(_ text: String?) throws(MetalinkError) -> String {
        guard let text, !text.isEmpty else { throw MetalinkError(problem: "a file has no name") }
        // Compares bytes, not characters: a mark that combines with a slash would hide it.
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let doesStay = parts.allSatisfy { part in
            !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
                && !part.contains(UInt8(ascii: "\\"))
        }
        let fault: String? =
            if !doesStay {
                "does not stay in its folder"
            } else if text.utf8.count >= 2048 || parts.contains(where: { $0.count > 255 }) {
                "is too long: a name has at most 255 bytes, a path 2047"
            } else if text.utf8.contains(where: { $0 < 32 || $0 == 127 })
                || text.unicodeScalars.contains(where: isUnseen)
            {
                "has a character that nobody sees"
            } else if parts.contains(where: { $0.first == UInt8(ascii: ".") }) {
                "would be hidden, because of the dot"
            } else {
                nil
            }
        if let fault { throw MetalinkError(problem: "the file name \"\(text.prefix(80))\" \(fault)") }
        return text
    }

    /// Marks of direction and other characters without a shape make a name look like another one. The joiners and variants
    /// of scripts and emoji do not.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x80...0x9F, 0x2028...0x202E: true
        case 0x180B...0x180D, 0x180F, 0x200C, 0x200D, 0xFE00...0xFE0F, 0xE0020...0xE007F, 0xE0100...0xE01EF: false
        default: scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Torrents, rsync and the like are not supported.
    static func canBeFetched(_ url: String) -> Bool {
        ["http://", "https://", "ftp://", "ftps://", "sftp://"].contains { url.lowercased().hasPrefix($0) }
    }

    /// nil for an unknown algorithm: another digest may be known.
    static func algorithm(_ name: String?) -> DigestAlgorithm? {
        switch name?.lowercased() {
        case "md5": .md5
        case "sha-1", "sha1": .sha1
        case "sha-256", "sha256": .sha256
        case "sha-384", "sha384": .sha384
        case "sha-512", "sha512": .sha512
        default: nil
        }
    }

    /// - Throws: if the value is invalid for the algorithm, because a dropped digest would not protect.
    static func value(_ text: String, _ algorithm: DigestAlgorithm, of file: String) throws(MetalinkError) -> String {
        let value = text.lowercased()
        let isHex = value.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        guard isHex, value.utf8.count == algorithm.hexLength else {
            throw MetalinkError(
                problem: "\(file): a \(algorithm.rawValue) has \(algorithm.hexLength) hexadecimal digits")
        }
        return value
    }

    /// Digests of known algorithms, strongest first.
    static func checksums(_ elements: [XMLElement], of file: String) throws(MetalinkError) -> [Checksum] {
        var found: [Checksum] = []
        for element in elements {
            guard let algorithm = algorithm(element.attributes["type"]) else { continue }
            found.append(
                Checksum(algorithm: algorithm, value: try value(element.trimmedText, algorithm, of: file)))
        }
        return found.sorted { $0.algorithm.hexLength > $1.algorithm.hexLength }
    }

    static func size(_ element: XMLElement?, of file: String) throws(MetalinkError) -> ByteCount? {
        guard let element else { return nil }
        guard let size = Int64(element.trimmedText), size >= 0 else {
            throw MetalinkError(problem: "\(file): the size is not a number of bytes")
        }
        return ByteCount(size)
    }

    /// The strongest list of pieces that covers the file and that a task may contain.
    /// - Parameter isNeeded: whether the file has no other digest.
    /// - Throws: if it has lists, but none that can be used, and would arrive without any proof.
    static func pieces(
        _ elements: [XMLElement], size: ByteCount?, isNeeded: Bool, of file: String
    ) throws(MetalinkError) -> PieceDigests? {
        var best: PieceDigests?
        var refused: PieceDigests?
        for element in elements {
            guard let algorithm = algorithm(element.attributes["type"]) else { continue }
            guard let length = element.attributes["length"].flatMap({ Int64($0) }), length > 0 else {
                throw MetalinkError(problem: "\(file): pieces have no length")
            }
            var values: [String] = []
            for hash in element.all("hash") { values.append(try value(hash.trimmedText, algorithm, of: file)) }
            if let size, Int64(values.count) != size.rawValue / length + (size.rawValue % length > 0 ? 1 : 0) {
                throw MetalinkError(problem: "\(file): its \(values.count) pieces do not add up to its size")
            }
            let pieces = PieceDigests(algorithm: algorithm, length: ByteCount(length), values: values)
            guard Bounds.allows(pieces) else {
                if !values.isEmpty { refused = pieces }
                continue
            }
            if algorithm.hexLength > best?.algorithm.hexLength ?? 0 { best = pieces }
        }
        if isNeeded, best == nil, let refused {
            throw MetalinkError(
                problem:
                    "\(file): its \(refused.values.count) pieces of \(refused.length) bytes cannot be used (at most "
                    + "\(Bounds.pieces) of at least \(Bounds.leastPiece) bytes, with \(Bounds.pieceDigits) digits together), and it "
                    + "has no other digest")
        }
        return best
    }
}

/// RFC 5854.
enum MetalinkVersion4 {
    static func file(_ element: XMLElement) throws(MetalinkError) -> Metalink.File {
        var file = Metalink.File(name: try MetalinkRules.name(element.attributes["name"]))
        file.size = try MetalinkRules.size(element.first("size"), of: file.name)
        file.checksums = try MetalinkRules.checksums(element.all("hash"), of: file.name)
        file.pieces = try MetalinkRules.pieces(
            element.all("pieces"), size: file.size, isNeeded: file.checksums.isEmpty, of: file.name)
        // 1 is the highest priority, 999999 the default (section 4.2.16.2).
        let urls = element.all("url").enumerated().map { index, url in
            (url.attributes["priority"].flatMap { Int($0) } ?? 999_999, index, url.trimmedText)
        }
        file.urls = urls.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2).filter(MetalinkRules.canBeFetched)
        guard !file.urls.isEmpty else { throw MetalinkError(problem: "\(file.name) has no URL") }
        return file
    }
}

/// Metalink 3.0, second edition: digests are below `verification` and URLs below `resources`, highest `preference`
/// first.
enum MetalinkVersion3 {
    static func file(_ element: XMLElement) throws(MetalinkError) -> Metalink.File {
        var file = Metalink.File(name: try MetalinkRules.name(element.attributes["name"]))
        file.size = try MetalinkRules.size(element.first("size"), of: file.name)
        let verification = element.first("verification")
        file.checksums = try MetalinkRules.checksums(verification?.all("hash") ?? [], of: file.name)
        file.pieces = try MetalinkRules.pieces(
            verification?.all("pieces") ?? [], size: file.size, isNeeded: file.checksums.isEmpty, of: file.name)
        let urls = (element.first("resources")?.all("url") ?? []).enumerated().map { index, url in
            // The smallest number cannot be negated.
            (-max(url.attributes["preference"].flatMap { Int($0) } ?? 0, -Int.max), index, url.trimmedText)
        }
        file.urls = urls.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2).filter { url in
            MetalinkRules.canBeFetched(url) && !url.lowercased().hasSuffix(".torrent")
        }
        guard !file.urls.isEmpty else { throw MetalinkError(problem: "\(file.name) has no URL") }
        return file
    }
}
