import TransferModel

/// Decides what happens to a coded body (RFC 9110 section 8.4). The answer to a data task is decoded. If a download is
/// coded although identity was requested, known codings are decoded at delivery. Unknown codings remain, and the file's
/// name tells them. So a file with a plain name has plain content.
package enum ContentCodingRules {
    /// A coding that the daemon can decode, by its name in HTTP; in the order in which codings are requested.
    package enum Undoable: String, Sendable, Hashable, CaseIterable {
        case gzip, deflate, br, zstd
    }

    /// What happens at delivery.
    package struct Plan: Sendable, Hashable {
        /// Codings to decode, the outermost first.
        package var undone: [Undoable] = []
        /// Name of the file, including the codings that remain.
        package var name: String
    }

    /// More layers than this are an attack, not a file.
    static let mostLayers = 4

    /// Extensions that indicate a coding; the first is the one to append.
    private static let extensions: [String: [String]] = [
        "gzip": ["gz", "tgz", "gzip", "svgz", "taz", "emz", "z"], "br": ["br"], "zstd": ["zst", "zstd", "tzst"],
        "compress": ["Z", "taz"], "deflate": ["zz", "deflate"], "bzip2": ["bz2", "tbz", "tbz2"], "xz": ["xz", "txz"],
        "lzma": ["lzma", "tlz"], "lz4": ["lz4"],
    ]

    fileprivate static let otherNames = [
        "x-gzip": "gzip", "x-compress": "compress", "x-bzip2": "bzip2", "bzip": "bzip2", "x-zstd": "zstd", "x-xz": "xz",
    ]

    /// Words in Content-Encoding that are not codings: character sets, transfer encodings, and information that object
    /// stores keep about how a file was sent to them.
    fileprivate static let meaningless: Set<String> = [
        "identity", "none", "binary", "7bit", "8bit", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "aws-chunked",
    ]

    /// Media types of files whose own format is that of a coding.
    fileprivate static let ownTypes: [String: Set<String>] = [
        "gzip": ["application/gzip", "application/x-gzip", "application/x-tgz"],
        "zstd": ["application/zstd", "application/x-zstd"],
        "compress": ["application/x-compress"], "bzip2": ["application/x-bzip2", "application/x-bzip"],
        "xz": ["application/x-xz"],
    ]

    /// The most bytes that a decoded body may have; anything longer is a bomb. Codings made to deceive reach a ratio of
    /// 1,032 (deflate) up to some millions; real files seldom reach 100.
    /// - Parameter coded: bytes of the whole coded body.
    package static func mostDecoded(of coded: ByteCount) -> ByteCount {
        let (product, overflows) = coded.rawValue.multipliedReportingOverflow(by: Bounds.decodedRatio)
        return overflows ? ByteCount(.max) : max(ByteCount(product), ByteCount(Bounds.decodedAlways))
    }

    /// All codings of a body, the outermost first; nil if one of them cannot be decoded, or if there are too many.
    /// - Parameter coding: the result of `ResponseHead.contentCoding`.
    package static func undoingAll(_ coding: String) -> [Undoable]? {
        let codings = layers(coding)
        guard codings.count <= mostLayers else { return nil }
        var undone: [Undoable] = []
        for name in codings.reversed() {
            guard let coding = undoable(name) else { return nil }
            undone.append(coding)
        }
        return undone
    }

    /// The error of a download whose body has more layers of codings than are decoded; nil if it has not.
    static func tooManyLayers(_ head: ResponseHead) -> TransferError? {
        guard let coding = head.contentCoding else { return nil }
        let count = layers(coding).count
        guard count > mostLayers else { return nil }
        return TransferError(
            .httpProtocol,
            "The server sent the file in \(count) layers of content codings, and dld decodes at most \(mostLayers); report "
                + "it to the server's operator.")
    }

    /// - Parameters:
    ///   - coding: the result of `ResponseHead.contentCoding`, with at most as many layers as are decoded.
    ///   - name: the file's name without codings. If it already tells the innermost codings (`x.tar.gz`), these belong
    ///     to the file itself and stay.
    package static func plan(_ coding: String?, name: String) -> Plan {
        guard let coding else { return Plan(name: name) }
        let codings = layers(coding)
        var plan = Plan(name: name)
        var rest = codings.dropFirst(stated(codings, by: name))
        while let outermost = rest.last, let undoable = undoable(outermost) {
            plan.undone.append(undoable)
            rest.removeLast()
        }
        for coding in rest { plan.name += "." + ending(coding) }
        return plan
    }

    /// What may be undone of a body, the preferred choice first. A digest decides between them.
    /// - Parameter coding: the result of `ResponseHead.contentCoding`; nil if nothing but the preferred choice counts.
    package static func forms(of coding: String?, preferring undone: [Undoable]) -> [[Undoable]] {
        let all = coding.map { layers($0).reversed().prefix(mostLayers) }?.map(undoable).prefix { $0 != nil } ?? []
        let others = (0...all.count).map { Array(all.prefix($0).compactMap(\.self)) }
        return [undone] + (coding == nil ? [] : others.filter { $0 != undone })
    }

    /// The coding to decode or to tell; nil if there is none, or if the file's name already tells all of it.
    /// - Parameter names: names that the file has or might get, the preferred one first; only the first counts.
    static func unstated(_ coding: String?, names: @autoclosure () -> [String]) -> String? {
        guard let coding, let name = names().first else { return coding }
        let plan = plan(coding, name: name)
        return plan.undone.isEmpty && plan.name == name ? nil : coding
    }

    private static func layers(_ coding: String) -> [String] {
        coding.split(separator: ",").map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
            .map { otherNames[$0] ?? $0 }
    }

    /// How many of the codings, from the innermost on, the last extensions of the name tell.
    private static func stated(_ codings: [String], by name: String) -> Int {
        let endings = name.split(separator: ".", omittingEmptySubsequences: false).dropFirst().map { $0.lowercased() }
        return (0...min(codings.count, endings.count)).last { count in
            zip(codings.prefix(count), endings.suffix(count)).allSatisfy { coding, ending in
                extensions[coding, default: [self.ending(coding)]].contains { $0.lowercased() == ending }
            }
        } ?? 0
    }

    private static func undoable(_ coding: String) -> Undoable? { Undoable(rawValue: coding) }

    /// A server may send any text; only a plain word is repeated in a name.
    private static func ending(_ coding: String) -> String {
        if let known = extensions[coding]?.first { return known }
        let isWord = coding.utf8.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
        return isWord && coding.utf8.count <= 16 && coding.utf8.first != UInt8(ascii: "-") ? coding : "coded"
    }
}

extension ResponseHead {
    /// Codings in the order in which they were applied; nil if there is none (RFC 9110 section 8.4).
    ///
    /// The innermost coding does not count if the media type names the same format. Some servers say that a `.tar.gz`
    /// has the type `application/gzip` and also the coding gzip, although it is compressed once.
    package var contentCoding: String? {
        guard headers.firstIndex(named: "content-encoding") != nil else { return nil }
        var codings = list("content-encoding").filter { !ContentCodingRules.meaningless.contains($0) }
        if let innermost = codings.first, let type = mediaType,
            ContentCodingRules.ownTypes[ContentCodingRules.otherNames[innermost] ?? innermost]?.contains(type) ?? false
        {
            codings.removeFirst()
        }
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }
}
