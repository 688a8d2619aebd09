/// Chooses and tames file names: what a server or a URL says may be hostile.
package enum FilenameRules {
    /// Bytes a name may have (NAME_MAX of Linux file systems).
    package static let longest = 255

    /// Content-Disposition, else the last path component, else the host, else `unknown`; plus an extension of the
    /// media type where the name has none. Always safe to use.
    /// - Parameter url: the URL asked for; the one that answered (`head.url`) is preferred.
    package static func suggested(head: ResponseHead, url: String) -> String {
        if let header = head.values("content-disposition").first, let name = ContentDisposition.filename(header),
            let safe = harmless(name)
        {
            return withExtension(safe, head)
        }
        let parsed = [head.url, url].compactMap { try? URLRules.parse($0) }
        for name in parsed.compactMap(\.lastPathComponent) {
            if let safe = harmless(name) { return withExtension(safe, head) }
        }
        for host in parsed.map(\.host) where !host.isEmpty {
            if let safe = harmless(host) { return withExtension(safe, head, evenWithDot: true) }
        }
        return withExtension("unknown", head)
    }

    /// A single file name that cannot leave its folder, hide, or deceive; `unknown` where nothing is left.
    package static func sanitize(_ name: String) -> String { harmless(name) ?? "unknown" }

    private static func harmless(_ name: String) -> String? {
        // Only what follows the last separator of either kind is a name; the rest would be a path.
        let last = name.split { $0 == "/" || $0 == "\\" }.last.map(String.init) ?? ""
        var scalars = String.UnicodeScalarView()
        for scalar in last.unicodeScalars where !isDropped(scalar) { scalars.append(scalar) }
        var safe = Substring(String(scalars))
        while let first = safe.first, first == "." || first == " " { safe.removeFirst() }
        while let end = safe.last, end == " " || end == "." { safe.removeLast() }
        guard !safe.isEmpty else { return nil }
        if safe.hasPrefix("-") { return shortened("_" + safe.dropFirst()) }
        return shortened(isReserved(safe) ? "_\(safe)" : String(safe))
    }

    /// Device names of the systems whose disks get mounted here.
    private static func isReserved(_ name: Substring) -> Bool {
        let stem = name.prefix { $0 != "." }.lowercased()
        if ["con", "prn", "aux", "nul"].contains(stem) { return true }
        return stem.count == 4 && (stem.hasPrefix("com") || stem.hasPrefix("lpt")) && stem.last?.isNumber == true
    }

    /// Control characters, line separators, and what reverses or hides text.
    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
            0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }

    /// At most `longest` bytes, the extension kept where it is a reasonable one.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > longest else { return name }
        let ending = pathExtension(name).map { "." + $0 } ?? ""
        let kept = ending.utf8.count <= 32 ? ending : ""
        var stem = String(name.dropLast(kept.count))
        while stem.utf8.count + kept.utf8.count > longest { stem.removeLast() }
        return stem + kept
    }

    private static func pathExtension(_ name: String) -> String? {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
        let ending = name[name.index(after: dot)...]
        return ending.isEmpty ? nil : String(ending)
    }

    private static func withExtension(_ name: String, _ head: ResponseHead, evenWithDot: Bool = false) -> String {
        guard evenWithDot || pathExtension(name) == nil, let type = MessageFraming.mediaType(head),
            let ending = MediaTypes.fileExtension(type)
        else { return name }
        return shortened("\(name).\(ending)")
    }
}
