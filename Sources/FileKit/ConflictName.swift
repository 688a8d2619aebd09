import TransferModel

/// Names for a file whose wanted name is taken: `name (1).ext`, `name (2).ext`, …
package enum ConflictName {
    /// The largest number that delivery tries.
    package static let last = 9999

    /// Extensions that form a pair with the one before: the number goes before both.
    private static let compressions: Set<String> = [
        "gz", "bz2", "xz", "zst", "br", "lz", "lz4", "lzma", "z", "sig", "asc",
    ]

    /// - Parameter number: from 1; 0 returns the name itself.
    package static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 0 else { return name }
        let (stem, ending) = split(name)
        let tail = " (\(number))"
        let room = PathRules.longestName - tail.utf8.count - ending.utf8.count
        // An absurdly long extension is cut instead of the number.
        guard room > 0 else {
            return name.cut(toBytes: PathRules.longestName - tail.utf8.count) + tail
        }
        return stem.cut(toBytes: room) + tail + ending
    }

    /// The stem, and the extension with its dot. A leading dot is part of the stem.
    package static func split(_ name: String) -> (stem: String, ending: String) {
        guard let (stem, last) = splitLast(name) else { return (name, "") }
        guard compressions.contains(last.lowercased()), let (inner, before) = splitLast(stem),
            before.utf8.count <= 5
        else { return (stem, "." + last) }
        return (inner, "." + before + "." + last)
    }

    /// An extension has 1 to 16 letters or digits, with at least one letter (the `2` in `foo-1.2` is not an extension).
    private static func splitLast(_ name: String) -> (String, String)? {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        let ending = name[name.index(after: dot)...]
        let stem = name[..<dot]
        guard (1...16).contains(ending.utf8.count), stem.contains(where: { $0 != "." }),
            ending.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }), ending.contains(where: \.isLetter)
        else { return nil }
        return (String(stem), String(ending))
    }
}
