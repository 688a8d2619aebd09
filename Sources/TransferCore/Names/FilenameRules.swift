/// Chooses file names and makes them safe: names from servers and URLs may be hostile.
package enum FilenameRules {
    /// Bytes a name may have (NAME_MAX of Linux file systems).
    package static let longest = 255

    /// The name from Content-Disposition, else the last path component, else the host, else `unknown`. Only the last two,
    /// which no server gave, get the media type's extension: `LICENSE` is a whole name. Codings that stay add theirs.
    /// Always safe to use.
    /// - Parameter url: the requested URL; the one that answered (`head.url`) takes precedence.
    package static func suggested(head: ResponseHead, url: String) -> String {
        coded(plain(head, url), head.contentCoding)
    }

    /// The name of a file that arrived with this Content-Encoding. A name that its folder does not take is cut, and
    /// characters are replaced.
    package static func coded(
        _ name: String, _ coding: String?, fitting limits: NameLimits = NameLimits()
    ) -> String {
        let whole = ContentCodingRules.plan(coding, name: name).name
        guard limits.fault(of: whole) != nil else { return whole }
        let allowed = whole.unicodeScalars.map { limits.forbids($0) ? "_" : $0 }
        return shortened(String(String.UnicodeScalarView(allowed)), to: limits.longest)
    }

    private static func plain(_ head: ResponseHead, _ url: String) -> String {
        if let header = head.values("content-disposition").first, let name = ContentDisposition.filename(header),
            let safe = harmless(name)
        {
            return safe
        }
        if let given = [head.url, url].lazy.compactMap(URLRules.lastPathComponent).compactMap(harmless).first {
            return given
        }
        let hosts = [head.url, url].lazy.compactMap { try? URLRules.parse($0).host }
        let name = hosts.compactMap(harmless).first ?? "unknown"
        let ending = head.mediaType.flatMap(MediaType.fileExtension)
        return ending.map { shortened("\(name).\($0)") } ?? name
    }

    /// A single file name that cannot leave its folder, hide, or deceive; `unknown` if nothing remains.
    package static func sanitize(_ name: String) -> String { harmless(name) ?? "unknown" }

    /// Examines scalars, not characters: a combining mark must not hide the separator or dot before it.
    private static func harmless(_ name: String) -> String? {
        if isPlain(name.utf8.span) { return name }
        let visible = name.unicodeScalars.filter { !isDropped($0) }
        // Only the text after the last separator of either kind is a name; the rest would be a path.
        guard let last = visible.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last else { return nil }
        let safe = trimmed(String.UnicodeScalarView(last))
        guard let first = safe.first else { return nil }
        if first == "-" { return shortened("_" + String(safe.dropFirst())) }
        return shortened(isReserved(safe) ? "_\(String(safe))" : String(safe))
    }

    /// Whether a name needs no change: ASCII letters and digits, with `.`, `_` and `-` between them, as in most names.
    /// False for every name whose stem is as long as a device's.
    private static func isPlain(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty, name.count <= longest else { return false }
        var stem = name.count
        for index in name.indices {
            switch name[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                break
            case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                guard index > 0, index < name.count - 1 else { return false }
                if name[index] == UInt8(ascii: ".") { stem = min(stem, index) }
            default: return false
            }
        }
        return stem != 3 && stem != 4
    }

    /// Removes dots and blanks at both ends; at the start they would hide the file.
    private static func trimmed(_ name: String.UnicodeScalarView) -> String.UnicodeScalarView {
        let isMargin: (Unicode.Scalar) -> Bool = { $0 == "." || $0 == " " }
        var rest = name[...]
        while let first = rest.first, isMargin(first) { rest.removeFirst() }
        while let last = rest.last, isMargin(last) { rest.removeLast() }
        return String.UnicodeScalarView(rest)
    }

    /// Device names of other systems whose disks may be mounted here.
    private static func isReserved(_ name: String.UnicodeScalarView) -> Bool {
        let stem = String(String.UnicodeScalarView(name.prefix { $0 != "." })).lowercased()
        if ["con", "prn", "aux", "nul"].contains(stem) { return true }
        return stem.count == 4 && (stem.hasPrefix("com") || stem.hasPrefix("lpt")) && stem.last?.isNumber == true
    }

    /// Control characters, line separators, and characters that reverse or hide text or have no shape.
    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0xFFF9...0xFFFB: true
        case 0x180B...0x180D, 0x180F, 0xFE00...0xFE0F, 0xE0100...0xE01EF: false
        default: scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// A reasonable extension is kept, together with a `.tar` before it.
    private static func shortened(_ name: String, to longest: Int = longest) -> String {
        guard name.utf8.count > longest else { return name }
        let ending = pathExtension(name).map { "." + $0 } ?? ""
        let archive = name.dropLast(ending.count).suffix(4)
        let kept = ending.utf8.count > 32 ? "" : archive.lowercased() == ".tar" ? archive + ending : ending
        let stem = String(name.dropLast(kept.count))
        return beginning(of: stem, bytes: longest - kept.utf8.count) + kept
    }

    /// Whole characters or, if a single one is too long, whole scalars.
    private static func beginning(of text: String, bytes: Int) -> String {
        var characters = text
        while characters.utf8.count > bytes { characters.removeLast() }
        var kept = trimmed(characters.unicodeScalars)
        if kept.isEmpty {
            kept = text.unicodeScalars
            while String(kept).utf8.count > bytes { kept.removeLast() }
            kept = trimmed(kept)
        }
        return String(kept)
    }

    private static func pathExtension(_ name: String) -> String? {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return nil }
        let ending = name[name.utf8.index(after: dot)...]
        return ending.isEmpty ? nil : String(ending)
    }
}
