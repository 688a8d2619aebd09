import TransferCore
import TransferModel

/// Content-Range and its use: a range lies within its length and is written as it was read, and a part is accepted only
/// at the offset that was requested.
struct ContentRangeProbe: Probe {
    var parse: @Sendable (String) -> ContentRange?

    static let target = FuzzTarget(
        "content-range",
        words: [
            "bytes ", "BYTES", "*/", "-", "/", "/*", "0", "9223372036854775807", "9223372036854775808", "400000", "\t",
            "+1",
        ],
        ContentRangeProbe { ContentRange($0) },
        // The last byte may equal the length.
        planted: ContentRangeProbe { text in
            let halves = text.split(separator: "/")
            if halves.count == 2, let total = Int64(halves[1]), text.hasSuffix("-\(total)/\(total)") {
                return .range(first: 0, last: ByteCount(total), total: ByteCount(total))
            }
            return ContentRange(text)
        })

    private static let offset = ByteCount(400_000)
    private static let size = ByteCount(1 << 20)

    func check(_ input: [UInt8]) throws {
        let text = fieldValue(input)
        guard let range = parse(text) else { return try judge(text, acceptsNothing: true) }
        switch range {
        case .range(let first, let last, let total):
            try hold(first >= .zero && first <= last, "the range is empty or negative")
            if let total { try hold(last < total, "the range passes its length") }
            let written = "bytes \(first)-\(last)/\(total.map { "\($0)" } ?? "*")"
            try hold(parse(written) == range, "\(written) is not what was read")
        case .unsatisfied(let total):
            try hold(total >= .zero && parse("bytes */\(total)") == range, "a length that is none")
        }
        try judge(text, acceptsNothing: false)
    }

    /// Judges a 206, a 416 and a 200 with this field when 400,000 bytes are held.
    private func judge(_ text: String, acceptsNothing: Bool) throws {
        var spec = TaskSpec()
        spec.url = "https://example.org/f"
        let held = Checkpoint(
            offset: Self.offset, total: Self.size, validators: Validators(etag: "\"1\""), partPath: "/p", device: 1,
            inode: 1)
        var strategy = try StrategyRegistry.download(
            for: StrategyRequest(spec: spec, checkpoint: held, now: Timestamp(milliseconds: 0)))
        guard let judge = strategy.next(after: nil).exchange?.judge else {
            throw Violation(description: "nothing is asked for")
        }
        for status in [206, 416, 200] {
            var head = ResponseHead(url: "https://example.org/f", status: status)
            head.headers = [HeaderField("Content-Range", text), HeaderField("ETag", status == 200 ? "\"2\"" : "\"1\"")]
            let verdict = judge.judge(head)
            guard case .accept(let acceptance) = verdict else { continue }
            if status == 200 {
                try hold(acceptance.offset == .zero && acceptance.truncate, "a 200 is written behind other bytes")
                continue
            }
            try hold(!acceptsNothing && status == 206, "\(status) with an unusable range is accepted")
            try hold(acceptance.offset == Self.offset && !acceptance.truncate, "a part is written elsewhere")
            try hold(acceptance.total == Self.size, "the length changes to \(String(describing: acceptance.total))")
            let end = acceptance.offset + (acceptance.expected ?? .zero)
            try hold(end <= Self.size && end > Self.offset, "the part ends at \(end)")
        }
    }
}
