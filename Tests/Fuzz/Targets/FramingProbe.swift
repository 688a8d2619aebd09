import FoundationEssentials
import JSONRPC
import NIOCore
import TestSupport
import TransferModel

/// The wire from the socket's bytes to requests: it does not matter how the bytes are split into reads, the lines are
/// the texts between LFs, and everything is answered with one JSON value that has the id.
struct FramingProbe: Probe {
    /// Returns the pieces of a stream that arrives in these chunks.
    var pieces: @Sendable (_ chunks: [ArraySlice<UInt8>], _ limit: Int) -> [LineFramer.Piece]

    static let target = FuzzTarget(
        "rpc-framing",
        words: [
            "{\"jsonrpc\":\"2.0\",", "\"id\":", "\"method\":\"task.get\"", "\"params\":{", "}", "[", "]", ",", "\n",
            "\r\n", "\\u0000", "\\ud800", "null", "-0", "1e999",
        ],
        FramingProbe { chunks, limit in framed(chunks, limit) },
        // A CR before the LF is dropped if both arrive in one chunk.
        planted: FramingProbe { chunks, limit in
            framed(chunks.map { chunk in chunk.suffix(2) == [13, 10] ? chunk.dropLast(2) + [10] : chunk }, limit)
        })

    private static let limit = 512

    func check(_ input: [UInt8]) throws {
        let expected = Self.split(input)
        try hold(pieces([input[...]], Self.limit) == expected, "the lines of one chunk are not those between the LFs")
        try hold(pieces(input.map { [$0] }, Self.limit) == expected, "single bytes give other lines")
        try hold(pieces(Self.chunks(input), Self.limit) == expected, "the borders of the chunks matter")
        for case .line(let line) in expected { try check(line: line) }
    }

    private static func framed(_ chunks: [ArraySlice<UInt8>], _ limit: Int) -> [LineFramer.Piece] {
        var framer = LineFramer(limit: limit)
        var found: [LineFramer.Piece] = []
        for chunk in chunks {
            framer.append(ByteBuffer(bytes: chunk))
            while let piece = framer.next() { found.append(piece) }
        }
        return found
    }

    private static func split(_ input: [UInt8]) -> [LineFramer.Piece] {
        var found: [LineFramer.Piece] = []
        let lines = input.split(separator: 10, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if line.count > limit { return found + [.overlong] }
            if index < lines.count - 1 { found.append(.line(Array(line))) }
        }
        return found
    }

    private static func chunks(_ input: [UInt8]) -> [ArraySlice<UInt8>] {
        var state = fingerprint(input)
        var rest = input[...]
        var chunks: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let length = min(rest.count, Int(state >> 33) % 40)
            chunks.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return chunks
    }

    private func check(line: [UInt8]) throws {
        let isText = String(validating: line, as: UTF8.self) != nil
        let isJSON = isText && (try? JSONTape(line)) != nil
        if isJSON, (try? ForeignJSON.value(line)) == nil {
            // Except for numbers beyond a Double and lone surrogates.
            let isOfSize = !line.contains { (48...57).contains($0) || $0 == UInt8(ascii: "\\") }
            try hold(!isOfSize, "Foundation does not read what is taken for JSON")
        }
        let parsed: RPCLine
        do throws(RPCError) {
            parsed = try RPCLine(line, batchLimit: 4)
        } catch {
            try hold(!isJSON || error.code != -32700, "JSON is said to be none")
            return try check(answer: RPCText.answer(id: nil, error: error), to: nil)
        }
        try hold(isJSON, "what is no JSON was taken for a request")
        try hold(parsed.isBatch == (line.first { ![9, 13, 32].contains($0) } == UInt8(ascii: "[")), "a batch is none")
        for entry in parsed.entries {
            switch entry {
            case .request(let request):
                try check(answer: RPCText.answer(id: request.id, result: Array("{}".utf8)), to: request.id)
                let parameters = request.parameters ?? Array("{}".utf8)
                try hold((try? JSONTape(parameters)) != nil, "parameters are not JSON")
            case .invalid(let id, let error):
                try check(answer: RPCText.answer(id: id, error: error), to: id)
            }
        }
    }

    private func check(answer: [UInt8], to id: [UInt8]?) throws {
        try hold(!answer.contains(10) && !answer.contains(13), "an answer has more than one line")
        guard let root = try? JSONTape(answer).root, root.kind == .object else {
            throw Violation(description: "an answer is no JSON object")
        }
        let given = root.find("id").map { Array($0.text) }
        try hold(given == (id ?? Array("null".utf8)), "an answer has another id than its request")
        try hold((id?.count ?? 0) <= RPCLine.idLimit, "an overlong id is echoed")
    }
}
