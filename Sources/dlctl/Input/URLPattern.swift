import Glibc
import TransferModel

/// A URL with curl's globs: a lazy collection of the URLs that it matches.
///
/// `{a,b}` stands for each of these texts, and `[1-10]`, `[01-20]`, `[1-10:2]`, `[a-z]` and `[a-z:3]` for each of these
/// numbers or letters. A brace or bracket after a backslash is literal, and so are `[]` and an IPv6 address in
/// brackets. The last glob varies fastest (curl(1), URL).
package struct URLPattern: RandomAccessCollection, Hashable, Sendable {
    package struct Expansion: Hashable {
        package var url: String
        /// The value of each of its globs.
        package var values: [String]

        /// A file name in which `#1` is replaced by the first glob's text, and so on. Other text stays (curl(1),
        /// --output).
        package func named(_ name: String) -> String {
            URLPattern.expanded(name) { values.indices.contains($0 - 1) ? values[$0 - 1] : nil }
        }
    }

    package struct Malformed: Error, Hashable {
        /// Counted in characters from 1.
        package var position: Int
        package var problem: String
    }

    enum Part: Hashable {
        case literal(String)
        case glob(Glob)
    }

    enum Glob: Hashable {
        case texts([String])
        case letters(first: UInt8, step: Int, count: Int)
        /// - Parameter width: the number of digits, filled with zeros.
        case numbers(first: Int, step: Int, count: Int, width: Int)

        var count: Int {
            switch self {
            case .texts(let texts): texts.count
            case .letters(_, _, let count), .numbers(_, _, let count, _): count
            }
        }

        subscript(index: Int) -> String {
            switch self {
            case .texts(let texts): return texts[index]
            case .letters(let first, let step, _):
                return String(UnicodeScalar(UInt8(Int(first) + index * step)))
            case .numbers(let first, let step, _, let width):
                let digits = String(first + index * step)
                return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
            }
        }
    }

    private let parts: [Part]
    package let count: Int

    /// - Throws: `Malformed`, also if it matches more URLs than an Int can count.
    package init(_ text: String) throws(Malformed) {
        var parser = URLPatternParser(text)
        parts = try parser.parse()
        var count = 1
        for case .glob(let glob) in parts {
            let (product, overflow) = count.multipliedReportingOverflow(by: glob.count)
            if overflow { throw Malformed(position: 1, problem: "it matches more URLs than can be counted") }
            count = product
        }
        self.count = count
    }

    /// A literal URL.
    package init(literal url: String) {
        parts = [.literal(url)]
        count = 1
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> Expansion {
        var rest = position
        var values: [String] = []
        var texts: [String] = []
        for part in parts.reversed() {
            switch part {
            case .literal(let text): texts.append(text)
            case .glob(let glob):
                let value = glob[rest % glob.count]
                rest /= glob.count
                values.append(value)
                texts.append(value)
            }
        }
        return Expansion(url: texts.reversed().joined(), values: values.reversed())
    }

    var globCount: Int { parts.count { if case .glob = $0 { true } else { false } } }

    /// Tells whether a file name refers to at least one glob.
    func isReferenced(by name: String) -> Bool {
        let count = globCount
        var isFound = false
        _ = Self.expanded(name) { number in
            if number >= 1, number <= count { isFound = true }
            return nil
        }
        return isFound
    }

    /// Replaces the references `#1`, `#2` … of a file name.
    /// - Parameter value: the text for a reference; nil if there is none, in which case the reference stays.
    private static func expanded(_ name: String, _ value: (Int) -> String?) -> String {
        var result = ""
        var rest = name[...]
        while let mark = rest.firstIndex(of: "#") {
            let digits = rest[rest.index(after: mark)...].prefix(while: \.isASCIIDigit)
            result += rest[..<mark]
            result += Int(digits).flatMap(value) ?? String(rest[mark..<digits.endIndex])
            rest = rest[digits.endIndex...]
        }
        return result + rest
    }
}

/// Reads a pattern as curl 7.88 to 8 do. Names of globs (`{<name>a,b}`, curl 8.18) are not supported.
private struct URLPatternParser {
    private let bytes: [UInt8]
    private var place = 0
    private var literal: [UInt8] = []
    private var parts: [URLPattern.Part] = []

    init(_ text: String) { bytes = Array(text.utf8) }

    private static let special = Set("{}[]".utf8)

    mutating func parse() throws(URLPattern.Malformed) -> [URLPattern.Part] {
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "{"):
                endLiteral()
                parts.append(.glob(.texts(try texts())))
            case UInt8(ascii: "["):
                if let length = literalBracketLength() {
                    literal += bytes[place..<place + length]
                    place += length
                } else {
                    endLiteral()
                    parts.append(.glob(try range()))
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                throw malformed(place, "nothing opens this '\(Character(UnicodeScalar(byte)))'")
            default:
                if byte == UInt8(ascii: "\\"), let next = peek(1), Self.special.contains(next) { place += 1 }
                literal.append(bytes[place])
                place += 1
            }
        }
        endLiteral()
        return parts
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        bytes.indices.contains(place + distance) ? bytes[place + distance] : nil
    }

    private mutating func endLiteral() {
        if !literal.isEmpty { parts.append(.literal(String(decoding: literal, as: UTF8.self))) }
        literal = []
    }

    /// The length of `[]` or of an IPv6 address in brackets.
    private func literalBracketLength() -> Int? {
        guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "]")) else { return nil }
        let content = String(decoding: bytes[place + 1..<end], as: UTF8.self)
        return content.isEmpty || Self.isAddress(content) ? end + 1 - place : nil
    }

    /// Tells whether the text is an IPv6 address, possibly with its zone (RFC 6874).
    private static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            // curl accepts zones of 1 to 15 bytes, also without the 25 that encodes the percent sign.
            let zone = parts[1].hasPrefix("25") && parts[1].count > 2 ? parts[1].dropFirst(2) : parts[1]
            guard (1...15).contains(zone.utf8.count) else { return false }
        }
        var address = in6_addr()
        return inet_pton(AF_INET6, String(parts[0]), &address) == 1
    }

    private mutating func texts() throws(URLPattern.Malformed) -> [String] {
        let start = place
        place += 1
        if peek() == UInt8(ascii: "}") { throw malformed(start, "'{}' names nothing") }
        var texts: [String] = []
        var text: [UInt8] = []
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "}"), UInt8(ascii: ","):
                texts.append(String(decoding: text, as: UTF8.self))
                text = []
                place += 1
                if byte == UInt8(ascii: "}") { return texts }
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "]"):
                throw malformed(place, "a brace or bracket within braces needs a backslash")
            default:
                if byte == UInt8(ascii: "\\"), place + 1 < bytes.count { place += 1 }
                text.append(bytes[place])
                place += 1
            }
        }
        throw malformed(start, "nothing closes this '{'")
    }

    private mutating func range() throws(URLPattern.Malformed) -> URLPattern.Glob {
        let start = place
        guard bytes[start...].contains(UInt8(ascii: "]")) else { throw malformed(start, "nothing closes this '['") }
        place += 1
        let glob = peek().map(\.isDigit) ?? false ? try numbers(start) : try letters(start)
        guard take(UInt8(ascii: "]")) else { throw noRange(start) }
        return glob
    }

    private mutating func letters(_ start: Int) throws(URLPattern.Malformed) -> URLPattern.Glob {
        guard let first = peek(), first.isLetter, peek(1) == UInt8(ascii: "-"), let last = peek(2) else {
            throw noRange(start)
        }
        place += 3
        let step = take(UInt8(ascii: ":")) ? number() : 1
        guard let step, last < 0x80, peek() == UInt8(ascii: "]") else { throw noRange(start) }
        let distance = Int(last) - Int(first)
        // curl's limit is the distance from a to z.
        guard distance <= 25 else { throw noRange(start) }
        return .letters(first: first, step: step, count: try count(distance, step, start))
    }

    private mutating func numbers(_ start: Int) throws(URLPattern.Malformed) -> URLPattern.Glob {
        let width = peek() == UInt8(ascii: "0") ? bytes[place...].prefix(while: \.isDigit).count : 0
        guard let first = number(), take(UInt8(ascii: "-")) else { throw noRange(start) }
        while peek() == UInt8(ascii: " ") || peek() == UInt8(ascii: "\t") { place += 1 }
        guard let last = number() else { throw noRange(start) }
        guard let step = take(UInt8(ascii: ":")) ? number() : 1, peek() == UInt8(ascii: "]") else {
            throw noRange(start)
        }
        return .numbers(first: first, step: step, count: try count(last - first, step, start), width: width)
    }

    /// The number of values from the first to the last.
    private func count(_ distance: Int, _ step: Int, _ start: Int) throws(URLPattern.Malformed) -> Int {
        guard distance >= 0 else { throw malformed(start, "\(glob(at: start)) runs backwards") }
        guard step > 0, step <= max(1, distance) else {
            throw malformed(start, "the step of \(glob(at: start)) must be at least 1 and within the range")
        }
        let (count, overflow) = (distance / step).addingReportingOverflow(1)
        if overflow { throw malformed(start, "\(glob(at: start)) is longer than can be counted") }
        return count
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        place += 1
        return true
    }

    /// nil if there are no digits, or if the number is too large.
    private mutating func number() -> Int? {
        let digits = bytes[place...].prefix(while: \.isDigit)
        place = digits.endIndex
        return Int(String(decoding: digits, as: UTF8.self))
    }

    private func noRange(_ start: Int) -> URLPattern.Malformed {
        malformed(
            start, "\(glob(at: start)) is not a range; write [1-10], [01-20], [1-10:2], [a-z] or [a-z:3]")
    }

    private func glob(at start: Int) -> String {
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "]")) ?? bytes.endIndex - 1
        return "'\(Printable.text(String(decoding: bytes[start...end], as: UTF8.self), limit: 40))'"
    }

    private func malformed(_ place: Int, _ problem: String) -> URLPattern.Malformed {
        URLPattern.Malformed(
            position: String(decoding: bytes[..<place], as: UTF8.self).count + 1, problem: problem)
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
