import FileKit
import TransferCore
import TransferModel

/// Servers that accept uploads and answer anything: tus, the IETF draft, contentRange, or the protocol that OPTIONS
/// names. The daemon never sends bytes that the file does not have, never believes an offset outside the file, and
/// sends credentials only where they belong. Input: the protocol, then answers: a line with the status, lines with
/// fields, an empty line.
struct UploadProbe: Probe {
    /// Returns the range of the source that an exchange sends.
    var range: @Sendable (Exchange) -> (offset: ByteCount, length: ByteCount)

    static let target = FuzzTarget(
        "upload-answers",
        words: [
            "tus\n", "resumable\n", "contentRange\n", "auto\n", "200\n", "201\n", "204\n", "308\n", "404\n", "409\n",
            "413\n", "460\n", "500\n", "\n\n", "Location: /u/1\n", "Location: https://other.example/u\n",
            "Upload-Offset: ", "Upload-Length: 1000000\n", "Upload-Complete: ?1\n", "Upload-Complete: ?0\n",
            "Upload-Incomplete: ?1\n", "Upload-Limit: max-append-size=", "max-size=", "max-age=", "Range: bytes=0-",
            "Tus-Resumable: 1.0.0\n", "Tus-Version: 1.0.0\n", "Tus-Extension: creation,checksum\n", "Tus-Max-Size: ",
            "Upload-Expires: Sun, 06 Nov 2033 08:49:37 GMT\n", "Retry-After: 5\n", "9223372036854775807", "999999", "0",
            "Upload-Draft-Interop-Version: 6\n",
        ],
        UploadProbe { exchange in (exchange.payload.sourceOffset ?? .zero, exchange.payload.sourceLength) },
        // A piece of a resumed upload is one byte too long.
        planted: UploadProbe { exchange in
            let offset = exchange.payload.sourceOffset ?? .zero
            return (offset, exchange.payload.sourceLength + (offset > .zero ? ByteCount(1) : .zero))
        })

    private static let size = ByteCount(1_000_000)
    private static let origin = "https://example.org/files"

    func check(_ input: [UInt8]) throws {
        let text = Charsets.guess(input)
        let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = lines.first, ["tus", "resumable", "contentRange", "auto"].contains(name) else { return }
        var strategy = try StrategyRegistry.upload(for: Self.request(String(name)))
        var step = strategy.next(after: nil)
        for answer in Self.answers(lines.dropFirst().first ?? "") {
            guard let exchange = step.exchange else { break }
            try check(exchange)
            try check(strategy.upload)
            var outcome = ExchangeOutcome(end: .finished, head: answer)
            outcome.head?.url = exchange.url
            outcome.sent = exchange.payload.sourceLength
            step = strategy.next(after: outcome)
        }
        if let exchange = step.exchange { try check(exchange) }
        try check(strategy.upload)
        switch step {
        case .failed(let failure): try hold(!failure.error.message.isEmpty, "no sentence")
        case .finished(let result): try hold(result.total == Self.size, "uploaded \(result.total)")
        case .run, .restart, .store: break
        }
    }

    private static func request(_ name: String) -> StrategyRequest {
        var spec = TaskSpec()
        spec.kind = .upload
        spec.url = origin
        spec.source = SourceFile(path: "/f")
        spec.uploadProtocol = name
        spec.bearer = "secret"
        var network = NetworkOptions()
        network.bearer = "secret"
        return StrategyRequest(
            spec: spec, network: network, now: Timestamp(milliseconds: 1_800_000_000_000),
            source: SourceIdentity(device: 1, inode: 2, size: size, modified: 3), nonce: "nonce")
    }

    private static func answers(_ text: Substring) -> [ResponseHead] {
        var heads: [ResponseHead] = []
        var isBetween = true
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty {
                isBetween = true
            } else if isBetween {
                heads.append(ResponseHead(url: origin, status: Int(line) ?? 200))
                isBetween = false
            } else if let colon = line.firstIndex(of: ":") {
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                heads[heads.count - 1].headers.append(HeaderField(String(line[..<colon]), String(value)))
            }
        }
        return heads
    }

    private func check(_ exchange: Exchange) throws {
        let (offset, length) = range(exchange)
        try hold(offset >= .zero && length >= .zero && offset + length <= Self.size, "sends \(length) from \(offset)")
        let url = try? URLRules.parse(exchange.url)
        try hold(url?.scheme == .http || url?.scheme == .https, "sends to \(shown(exchange.url))")
        if url?.hostKey != "https://example.org:443" {
            try hold(exchange.network.bearer == nil, "credentials go to \(shown(exchange.url))")
        }
        for field in exchange.ownHeaders + exchange.headers {
            try hold(!field.value.utf8.contains { $0 == 10 || $0 == 13 || $0 == 0 }, "sends \(shown(field.value))")
        }
    }

    private func check(_ upload: UploadProgress?) throws {
        guard let upload else { return }
        try hold(upload.offset >= .zero && upload.offset <= Self.size, "holds \(upload.offset)")
        try hold(
            (upload.longestAppend ?? ByteCount(1)) > .zero, "pieces of \(String(describing: upload.longestAppend))")
    }
}
