import TransferModel

/// How many terminal cells a text takes, and how to cut it to a number of cells.
///
/// It has its own table, because wcwidth(3) depends on a locale that must be set and installed.
enum DisplayWidth {
    static func of(_ text: String) -> Int {
        text.reduce(0) { $0 + of($1) }
    }

    static func of(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if character.isASCII { return first.value < 0x20 || first.value == 0x7F ? 0 : 1 }
        if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        if isZeroWidth(first) { return 0 }
        return isWide(first.value) ? 2 : 1
    }

    private static func isZeroWidth(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// Ranges with East_Asian_Width W or F (UAX #11). Blocks are joined if only unassigned code points lie between
    /// them.
    private static let wideRanges: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x23E9...0x23EC, 0x23F0...0x23F0, 0x23F3...0x23F3,
        0x25FD...0x25FE, 0x2614...0x2615, 0x2648...0x2653, 0x267F...0x267F, 0x2693...0x2693, 0x26A1...0x26A1,
        0x26AA...0x26AB, 0x26BD...0x26BE, 0x26C4...0x26C5, 0x26CE...0x26CE, 0x26D4...0x26D4, 0x26EA...0x26EA,
        0x26F2...0x26F3, 0x26F5...0x26F5, 0x26FA...0x26FA, 0x26FD...0x26FD, 0x2705...0x2705, 0x270A...0x270B,
        0x2728...0x2728, 0x274C...0x274C, 0x274E...0x274E, 0x2753...0x2755, 0x2757...0x2757, 0x2795...0x2797,
        0x27B0...0x27B0, 0x27BF...0x27BF, 0x2B1B...0x2B1C, 0x2B50...0x2B50, 0x2B55...0x2B55, 0x2E80...0x303E,
        0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18D08, 0x1AFF0...0x1B2FB,
        0x1F004...0x1F004, 0x1F0CF...0x1F0CF, 0x1F18E...0x1F18E, 0x1F191...0x1F19A, 0x1F1E6...0x1F320,
        0x1F32D...0x1F335, 0x1F337...0x1F37C, 0x1F37E...0x1F393, 0x1F3A0...0x1F3CA, 0x1F3CF...0x1F3D3,
        0x1F3E0...0x1F3F0, 0x1F3F4...0x1F3F4, 0x1F3F8...0x1F43E, 0x1F440...0x1F440, 0x1F442...0x1F4FC,
        0x1F4FF...0x1F53D, 0x1F54B...0x1F54E, 0x1F550...0x1F567, 0x1F57A...0x1F57A, 0x1F595...0x1F596,
        0x1F5A4...0x1F5A4, 0x1F5FB...0x1F64F, 0x1F680...0x1F6C5, 0x1F6CC...0x1F6CC, 0x1F6D0...0x1F6D2,
        0x1F6D5...0x1F6DF, 0x1F6EB...0x1F6EC, 0x1F6F4...0x1F6FC, 0x1F7E0...0x1F7F0, 0x1F90C...0x1F93A,
        0x1F93C...0x1F945, 0x1F947...0x1F9FF, 0x1FA70...0x1FAFF, 0x20000...0x3FFFD,
    ]

    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= 0x1100 else { return false }
        var low = 0
        var high = wideRanges.count
        while low < high {
            let middle = (low + high) / 2
            if wideRanges[middle].upperBound < value { low = middle + 1 } else { high = middle }
        }
        return low < wideRanges.count && wideRanges[low].contains(value)
    }

    /// The longest prefix that fits into `width` cells.
    static func prefix(_ text: String, _ width: Int) -> String {
        var used = 0
        var result = ""
        for character in text {
            let cells = of(character)
            if used + cells > width { break }
            used += cells
            result.append(character)
        }
        return result
    }

    /// The longest suffix that fits into `width` cells.
    static func suffix(_ text: String, _ width: Int) -> String {
        var used = 0
        var result: [Character] = []
        for character in text.reversed() {
            let cells = of(character)
            if used + cells > width { break }
            used += cells
            result.append(character)
        }
        return String(result.reversed())
    }

    /// `text` cut in the middle to at most `width` cells, so that a file name keeps its end, which shows the type.
    static func middle(_ text: String, _ width: Int, ellipsis: String = "…") -> String {
        if of(text) <= width { return text }
        let room = width - of(ellipsis)
        if room <= 0 { return prefix(text, max(0, width)) }
        let tail = room / 2
        return prefix(text, room - tail) + ellipsis + suffix(text, tail)
    }

    /// `text` cut at the end to at most `width` cells.
    static func end(_ text: String, _ width: Int, ellipsis: String = "…") -> String {
        if of(text) <= width { return text }
        let room = width - of(ellipsis)
        return room <= 0 ? prefix(text, max(0, width)) : prefix(text, room) + ellipsis
    }

    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - of(text)))
    }

    static func paddedLeft(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - of(text))) + text
    }
}

extension Printable {
    /// Safe text, cut to `limit` cells.
    static func text(_ text: String, limit: Int) -> String { DisplayWidth.end(self.text(text), limit) }
}
