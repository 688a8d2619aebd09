import TransferModel
import dlctl

/// Lists of downloads: each entry comes from one line, each refusal names its line, and the line ends of other systems
/// make no difference.
struct ListFileProbe: Probe {
    var parse: @Sendable ([UInt8]) throws -> [ListFile.Entry]

    static let target = FuzzTarget(
        "list-file",
        words: [
            "https://example.org/f", "\t", "\n", "\r\n", "  out=", "  dir=", "  checksum=sha-256:", "  header=A: b",
            "# ",
            "\u{feff}", "\u{301}", "\u{0}", "=", " ", "ftp://", "  checksum=md5:d41d8cd98f00b204e9800998ecf8427e",
        ],
        ListFileProbe { bytes throws(ListFile.Malformed) in try ListFile.parse(bytes, file: "list") },
        // A comment ends the list.
        planted: ListFileProbe { bytes throws(ListFile.Malformed) in
            let comment = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
            return try ListFile.parse(Array(bytes[..<comment]), file: "list")
        })

    func check(_ input: [UInt8]) throws {
        // A lone CR is refused. Before an LF it belongs to the line end.
        guard !input.contains(13) else {
            _ = try? parse(input)
            return
        }
        let windows = input.flatMap { $0 == 10 ? [13, 10] : [$0] }
        let entries: [ListFile.Entry]
        do {
            entries = try parse(input)
        } catch let error as ListFile.Malformed {
            try hold(error.line >= 1 && !error.problem.isEmpty, "no line: \(error)")
            try hold((try? parse(windows)) == nil, "line ends matter")
            return
        }
        try hold((try? parse(windows)) == entries, "line ends matter")
        let lines = input.split(separator: 10, omittingEmptySubsequences: false)
        let begins = lines.filter { line in
            let isMark = line.starts(with: [0xEF, 0xBB, 0xBF])
            guard let first = (isMark ? line.dropFirst(3) : line).first else { return false }
            return ![9, 32, 35].contains(first)
        }
        try hold(entries.count == begins.count, "\(entries.count) entries of \(begins.count) lines")
        for entry in entries { try check(entry, lines.count) }
    }

    private func check(_ entry: ListFile.Entry, _ count: Int) throws {
        try hold((1...count).contains(entry.line), "line \(entry.line) of \(count)")
        for text in [entry.url] + entry.mirrors + [entry.out, entry.dir].compactMap(\.self) {
            try hold(
                !text.isEmpty && !text.utf8.contains { $0 < 32 && $0 != 9 || $0 == 127 }, "\(shown(text)) is taken")
        }
        if let checksum = entry.checksum {
            try hold(checksum.value.utf8.count == checksum.algorithm.hexLength, "a digest of another length")
        }
    }
}
