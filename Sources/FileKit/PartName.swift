import TransferModel

/// Names of part files: hidden, unique to a task of one store, at most 143 bytes long, in the destination's folder.
///
/// `.video.mp4.6f1c2a9b-42.dldpart`: a user who finds one sees what it is and which task it belongs to.
package enum PartName {
    package static let suffix = ".dldpart"
    /// The least NAME_MAX of file systems in use (eCryptfs).
    static let longest = 143

    /// - Parameters:
    ///   - store: a text that differs between stores, such as a random one kept in each store.
    ///   - wanted: the final name, if it is known.
    ///   - attempt: increased if the name exists already and is not in a checkpoint.
    package static func make(task: TaskID, store: String, wanted: String? = nil, attempt: Int = 0) -> String {
        let number = attempt > 0 ? "\(task.rawValue)-\(attempt)" : String(task.rawValue)
        let tail = String.joining(".", owner(store), "-", number, suffix)
        let wanted = wanted.flatMap { $0.holds(UInt8(ascii: "/")) ? nil : $0 } ?? "dld"
        return String.joining(".", wanted.cut(toBytes: longest - 1 - tail.utf8.count), tail)
    }

    /// Enough letters and digits of a store's name to distinguish it from others.
    private static func owner(_ store: String) -> String {
        let most = 16
        return String(unsafeUninitializedCapacity: most) { buffer in
            store.bytes { bytes in
                var count = 0
                for byte in bytes where count < most && isPlain(byte) {
                    buffer[count] = byte
                    count += 1
                }
                return count
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }

    /// The task of this store that a part file belongs to; nil for other stores' part files and for other names.
    package static func task(of name: String, store: String) -> TaskID? {
        guard isPartName(name) else { return nil }
        let owner = Self.owner(store)
        let parts = name.dropLast(suffix.count).split(separator: ".").last?.split(separator: "-") ?? []
        guard parts.count >= 2, parts[0] == owner, let number = Int64(parts[1]) else { return nil }
        return TaskID(number)
    }

    /// Tells whether `make` could have made a file's name. Resume data may name no other files.
    package static func isPartName(_ name: String) -> Bool {
        guard name.utf8.first == UInt8(ascii: "."), name.hasSuffix(suffix), name.utf8.count <= PathRules.longestName,
            !name.utf8.contains(UInt8(ascii: "/"))
        else { return false }
        let middle = name.dropLast(suffix.count).split(separator: ".", omittingEmptySubsequences: true).last ?? ""
        let parts = middle.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count >= 2 && parts.dropFirst().allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isNumber) }
    }
}

extension String {
    /// The longest prefix of at most `limit` bytes that ends between characters.
    package func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var result = ""
        var length = 0
        for character in self {
            length += character.utf8.count
            if length > limit { break }
            result.append(character)
        }
        return result
    }
}
