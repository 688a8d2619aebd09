import Glibc
import TransferModel

/// Names for a file whose wanted name is taken: `name (1).ext`, `name (2).ext`, …
package enum ConflictName {
    /// The largest number that delivery tries.
    static let last = 9999

    /// Extensions that form a pair with the one before: the number goes before both.
    private static let compressions: Set<String> = [
        "gz", "bz2", "xz", "zst", "br", "lz", "lz4", "lzma", "z", "sig", "asc",
    ]

    /// - Parameters:
    ///   - number: from 1; 0 returns the name itself.
    ///   - longest: bytes a name may have.
    package static func numbered(
        _ name: String, _ number: Int, longest: Int = PathRules.longestName
    ) -> String {
        guard number > 0 else { return name }
        let (stem, ending) = split(name)
        let tail = " (\(number))"
        let room = longest - tail.utf8.count - ending.utf8.count
        // An absurdly long extension is cut instead of the number.
        guard room > 0 else {
            return name.cut(toBytes: longest - tail.utf8.count) + tail
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

extension Folder {
    /// The names that a delivered file may get, in this order. Only the policy `rename` has more than one.
    func candidates(for name: String, _ policy: ConflictPolicy) -> some Sequence<String> {
        (0...(policy == .rename ? ConflictName.last : 0)).lazy.map { [names] in
            ConflictName.numbered(name, $0, longest: names.longest)
        }
    }

    /// The error if each of them is the name of another file.
    func taken(_ name: String, _ policy: ConflictPolicy) -> TransferError {
        let rest =
            policy == .rename
            ? "and every numbered variant of it already exist."
            : "exists already. Remove it, or change destination or conflictPolicy (task.update), then task.retry."
        return TransferError(
            .destinationExists, "\(path(of: name)) \(rest)", details: ["path": .string(path(of: name))])
    }

    /// Renames a file, which replaces another file of that name.
    func rename(_ old: String, over name: String) throws(TransferError) {
        let (result, code) = retrying { renameat(fileDescriptor, old, fileDescriptor, name) }
        guard result != 0 else { return }
        if code == EISDIR || code == ENOTEMPTY || code == EEXIST {
            throw PathRules.bad(path(of: name), "a folder has this name, and folders are not replaced")
        }
        throw .destination(errno: code, "deliver", path(of: name))
    }
}
