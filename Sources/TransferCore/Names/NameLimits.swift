/// What a file system accepts as the name of a file.
package struct NameLimits: Hashable, Sendable {
    /// Bytes a name may have.
    package var longest: Int
    /// Whether names must be such as Windows accepts: on FAT, exFAT and NTFS.
    package var areWindows: Bool

    package init(longest: Int = FilenameRules.longest, areWindows: Bool = false) {
        self.longest = longest
        self.areWindows = areWindows
    }

    /// Why this cannot be the name of a file; nil if it can.
    package func fault(of name: String) -> String? {
        if name.utf8.count > longest { return "a file name has at most \(longest) bytes in this folder" }
        guard areWindows else { return nil }
        if name.unicodeScalars.contains(where: forbids) {
            return "a file name in this folder cannot contain \" * : < > ? \\ | or control characters"
        }
        if name.utf8.last == UInt8(ascii: ".") || name.utf8.last == UInt8(ascii: " ") {
            return "a file name in this folder cannot end with a dot or a space"
        }
        return nil
    }

    func forbids(_ scalar: Unicode.Scalar) -> Bool {
        areWindows && (scalar.value < 0x20 || "\"*:<>?\\|".unicodeScalars.contains(scalar))
    }
}
