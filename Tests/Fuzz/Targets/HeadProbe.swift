import CurlEngine
import TransferCore
import TransferModel

/// Headers as libcurl provides them, line by line: the fields have no line breaks and no blanks around them, they
/// belong to the last status line, and digests have the length of their algorithm.
struct HeadProbe: Probe {
    var parse: @Sendable (_ lines: [[UInt8]]) -> HeadParser

    static let target = FuzzTarget(
        "response-head",
        words: [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 Early Hints\r\n", "HTTP/2 301\r\n", "Content-Length: ", "Location: ",
            "Transfer-Encoding: chunked\r\n", "Repr-Digest: sha-256=:", ":;q=1", "Digest: MD5=", "x-goog-hash: md5=",
            "x-amz-checksum-type: FULL_OBJECT\r\n", "x-amz-checksum-sha256: ", "\r\n", "\n", " folded", ":", "\u{e4}",
            "9",
        ],
        HeadProbe { lines in HeadProbe.read(lines) },
        // The fields of an interim header stay.
        planted: HeadProbe { lines in HeadProbe.read(lines.filter { !$0.starts(with: Array("HTTP/1.1 2".utf8)) }) })

    private static func read(_ lines: [[UInt8]]) -> HeadParser {
        var parser = HeadParser()
        for line in lines { line.withUnsafeBytes { _ = parser.line($0) } }
        return parser
    }

    func check(_ input: [UInt8]) throws {
        var lines = input.split(separator: 10, omittingEmptySubsequences: false).map { Array($0) + [10] }
        lines.removeLast()
        let parser = parse(lines)
        let isStatus = { (line: [UInt8]) in line.starts(with: Array("HTTP/".utf8)) }
        let last = lines.lastIndex(where: isStatus)
        try hold((parser.httpVersion != nil) == (last != nil), "a status line is overlooked")
        if let last {
            let alone = Self.read(Array(lines[last...]))
            try hold(alone.headers == parser.headers && alone.status == parser.status, "fields of an earlier head stay")
            let status = String(decoding: lines[last], as: UTF8.self).split(separator: " ").dropFirst().first
            try hold(status?.hasPrefix("2") != true || parser.status != 103, "the status of an earlier head stays")
        }
        for field in parser.headers + parser.trailers { try check(field) }
        try judge(parser)
    }

    private func check(_ field: HeaderField) throws {
        let text = field.name + field.value
        try hold(!text.utf8.contains(10), "a line's end in \(shown(text))")
        for part in [field.name, field.value] {
            let ends = [part.utf8.first, part.utf8.last]
            try hold(!ends.contains(32) && !ends.contains(9), "blanks around \(shown(part))")
        }
    }

    private func judge(_ parser: HeadParser) throws {
        for (algorithm, value) in DigestFields.parse(parser.headers) {
            let isHex = value.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
            try hold(isHex && value.utf8.count == algorithm.hexLength, "\(algorithm.rawValue) of \(value)")
        }
        var spec = TaskSpec()
        spec.url = "https://example.org/f"
        var strategy = try StrategyRegistry.download(for: StrategyRequest(spec: spec, now: Timestamp(milliseconds: 0)))
        guard let judge = strategy.next(after: nil).exchange?.judge else { return }
        let head = ResponseHead(url: "https://example.org/f", status: parser.status, headers: parser.headers)
        switch judge.judge(head) {
        case .accept(let acceptance):
            try hold((200..<300).contains(parser.status ?? 0), "\(String(describing: parser.status)) is accepted")
            try hold(acceptance.offset == .zero, "a body that nobody asked to continue is written behind others")
            try hold((acceptance.expected ?? .zero) >= .zero, "a negative length")
        case .stop(.failure(let error, let after)):
            try hold(!error.message.isEmpty && error.message.utf8.count < 100_000, "no sentence")
            if let after { try hold(after >= 1 && after <= 86_400, "a delay of \(after)") }
        case .stop: break
        }
    }
}
