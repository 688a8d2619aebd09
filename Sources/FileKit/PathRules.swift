import TransferModel

/// Rules for paths and names that are checked before the file system is used.
package enum PathRules {
    /// NAME_MAX of all usual Linux file systems, in bytes.
    package static let longestName = 255
    /// PATH_MAX without the terminator.
    static let longestPath = 4095

    /// - Throws: `destination.bad_path`.
    static func requireAbsolute(_ path: String) throws(TransferError) {
        guard path.utf8.first == UInt8(ascii: "/") else { throw bad(path, "a path must be absolute, beginning with /") }
        guard !path.holds(0) else { throw bad(path, "a path cannot contain a NUL") }
        guard path.utf8.count <= longestPath else { throw bad(path, "a path has at most \(longestPath) bytes") }
        let longest = path.bytes { bytes in
            var (longest, length) = (0, 0)
            for byte in bytes {
                length = byte == UInt8(ascii: "/") ? 0 : length + 1
                longest = max(longest, length)
            }
            return longest
        }
        if longest > longestName { throw bad(path, "a name has at most \(longestName) bytes") }
    }

    /// - Throws: `destination.bad_path`.
    static func requireName(_ name: String) throws(TransferError) {
        guard !name.isEmpty, name != ".", name != ".." else { throw bad(name, "that is not a file name") }
        guard !name.holds(UInt8(ascii: "/")), !name.holds(0) else {
            throw bad(name, "a file name cannot contain / or NUL")
        }
        guard name.utf8.count <= longestName else { throw bad(name, "a file name has at most \(longestName) bytes") }
    }

    /// Whether every file system takes a name: at most 100 letters, digits, dots, hyphens and underscores of ASCII.
    static func isPortable(_ name: String) -> Bool {
        name.bytes { bytes in
            bytes.count <= 100
                && bytes.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                        true
                    default: false
                    }
                }
        }
    }

    /// The names between the slashes, without empty ones and `.`.
    package static func components(of path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).compactMap { String($0) }.filter { $0 != "." }
    }

    /// The path with `.`, `..`, doubled and trailing slashes resolved in the text.
    package static func normalized(_ path: String) -> String {
        var kept: [String] = []
        for component in components(of: path) {
            if component == ".." { _ = kept.popLast() } else { kept.append(component) }
        }
        return "/" + kept.joined(separator: "/")
    }

    package static func bad(_ path: String, _ reason: String) -> TransferError {
        TransferError(
            .destinationBadPath, "\(path.isEmpty ? "(empty)" : path): \(reason).", details: ["path": .string(path)])
    }
}
