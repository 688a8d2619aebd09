import TransferModel

/// Reads a list of downloads: one URL per line with its mirrors after tabs, `#` comments, and aria2's indented
/// `name=value` lines below a URL.
///
/// Pure: text in, entries out. Known options are `out`, `dir`, `checksum` and `header` (repeatable). Anything else is
/// refused with its line, because a silently dropped option would download the wrong thing.
package struct ListFile {
    package struct Entry: Hashable {
        package var url: String
        /// Mirrors of the same file.
        package var mirrors: [String] = []
        package var out: String?
        package var dir: String?
        package var checksum: Checksum?
        package var headers: [HeaderField] = []
        /// Counted from 1.
        package var line: Int
    }

    package struct Malformed: Error, Hashable, CustomStringConvertible {
        package var file: String
        package var line: Int
        package var problem: String
        package var description: String { "\(file):\(line): \(problem)" }
    }

    private let file: String
    private var entries: [Entry] = []

    /// - Throws: `Malformed` with the first line that cannot be read.
    package static func parse(_ bytes: [UInt8], file: String) throws(Malformed) -> [Entry] {
        var list = ListFile(file: file)
        var number = 0
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        for raw in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let line = raw.last == UInt8(ascii: "\r") ? raw.dropLast() : raw
            guard let text = String(validating: line, as: UTF8.self) else {
                throw Malformed(file: file, line: number, problem: "this line is not UTF-8 text")
            }
            try list.read(text, line: number)
        }
        return list.entries
    }

    private init(file: String) { self.file = file }

    private mutating func read(_ text: String, line: Int) throws(Malformed) {
        let indented = text.first == " " || text.first == "\t"
        let content = text.trimmingBlanks()
        if content.isEmpty || content.hasPrefix("#") { return }
        if let control = content.unicodeScalars.first(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F }) {
            throw malformed(
                line, "control character U+\(String(control.value, radix: 16, uppercase: true)) in the line")
        }
        if indented {
            try readOption(content, line: line)
        } else {
            let urls = content.split(separator: "\t").map { String($0).trimmingBlanks() }.filter { !$0.isEmpty }
            for url in urls where !ListFile.looksLikeURL(url) {
                throw malformed(line, "\"\(Printable.text(url, limit: 60))\" is not a URL")
            }
            // As in aria2, tabs separate the URLs of one file.
            entries.append(Entry(url: urls[0], mirrors: Array(urls.dropFirst()), line: line))
        }
    }

    private mutating func readOption(_ content: String, line: Int) throws(Malformed) {
        guard let last = entries.indices.last else {
            throw malformed(line, "an indented option needs a URL above it")
        }
        guard let equals = content.firstIndex(of: "=") else {
            throw malformed(line, "an indented line is an option: out=, dir=, checksum= or header=")
        }
        let name = String(content[..<equals]).trimmingBlanks()
        let value = String(content[content.index(after: equals)...]).trimmingBlanks()
        if value.isEmpty { throw malformed(line, "\(Printable.text(name, limit: 40))= has no value") }
        switch name {
        case "out":
            // Lists are often made from names that others chose.
            if value.split(separator: "/").contains("..") {
                throw malformed(
                    line, "out= must not contain \"..\", which leads out of the folder; use dir= for another folder")
            }
            entries[last].out = value
        case "dir": entries[last].dir = value
        case "checksum":
            guard let checksum = Checksum(argument: value) else {
                throw malformed(line, "checksum= takes ALGORITHM:HEX, for example sha-256:9f86d0…")
            }
            entries[last].checksum = checksum
        case "header":
            guard let header = HeaderArgument(argument: value)?.field else {
                throw malformed(line, "header= takes NAME: VALUE")
            }
            entries[last].headers.append(header)
        default:
            throw malformed(
                line, "\(Printable.text(name, limit: 40))= is not known here; use out=, dir=, checksum= or header=")
        }
    }

    private func malformed(_ line: Int, _ problem: String) -> Malformed {
        Malformed(file: file, line: line, problem: problem)
    }

    /// Tells whether the text begins with a scheme and a colon (RFC 3986 section 3.1). The daemon decides whether it
    /// supports the scheme.
    static func looksLikeURL(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), let first = text.first, first.isASCII, first.isLetter else {
            return false
        }
        return text[..<colon].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }
}

extension String {
    func trimmingBlanks() -> String {
        let blank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = firstIndex(where: { !blank($0) }), let last = lastIndex(where: { !blank($0) }) else {
            return ""
        }
        return String(self[first...last])
    }
}
