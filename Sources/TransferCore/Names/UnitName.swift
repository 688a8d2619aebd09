/// What systemd accepts as the full name of a unit; systemd.unit(5).
package enum UnitName {
    /// Suffixes of units that systemctl starts.
    private static let suffixes = [
        ".service", ".target", ".socket", ".timer", ".path", ".mount", ".automount", ".swap", ".slice",
    ]

    /// Whether the name says what kind of unit it is.
    package static func hasSuffix(_ unit: String) -> Bool { suffixes.contains { unit.hasSuffix($0) } }

    /// Whether it is a full name: neither a path nor an option.
    package static func isValid(_ unit: String) -> Bool {
        let isPlain = unit.utf8.allSatisfy { $0.isLetter || $0.isDigit || ":-_.\\@".utf8.contains($0) }
        let begins = unit.utf8.first.map { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ".") } ?? false
        return isPlain && begins && unit.utf8.count <= 255 && hasSuffix(unit)
    }
}
