import FileKit
import TransferCore
import TransferModel

/// Content codings: whatever a server sends gives a body within its limit, or an error with an allowed code. The first
/// byte selects the codings.
struct CodingProbe: Probe {
    var decode: @Sendable ([ContentCodingRules.Undoable], [UInt8], _ limit: ByteCount) throws -> [UInt8]?

    private static let choices: [[ContentCodingRules.Undoable]] = [
        [.gzip], [.deflate], [.br], [.zstd], [.gzip, .gzip], [.zstd, .br], [.br, .gzip], [.deflate, .zstd],
    ]
    /// Shorter than the decoded form of some committed inputs.
    private static let limit: ByteCount = 16

    static let target = FuzzTarget(
        "content-coding",
        words: [
            "\u{1f}\u{8b}\u{8}\0\0\0\0\0\0\u{3}", "(\u{b5}/\u{fd}", "Q*M\u{18}\u{3}\0\0\0", "\u{a1}\u{80}\0", "x\u{9c}",
            "\u{3}\0", "\0\0\0\0",
        ],
        CodingProbe { try ContentDecoding($0).decode($1, atMost: $2) },
        // Checking the limit is left to the caller.
        planted: CodingProbe { codings, coded, _ in try ContentDecoding(codings).decode(coded, atMost: .mebibytes(8)) })

    /// Decodes a body that arrives and is taken in pieces of random length.
    private static func streamed(
        _ codings: [ContentCodingRules.Undoable], _ coded: [UInt8], _ seed: UInt64
    ) throws -> [UInt8] {
        var plain: [UInt8] = []
        var lengths = seed
        func next(_ most: Int) -> Int {
            lengths = lengths &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(lengths >> 33) % (most + 1)
        }
        let decoding = StreamedDecoding(codings)
        var used = 0
        var isDrained = false
        while used < coded.count || !isDrained {
            let end = used + next(coded.count - used)
            let count = try coded[used..<end].withUnsafeBytes { bytes in
                try decoding.decode(bytes) { decoded in
                    let taken = next(decoded.count)
                    plain.append(contentsOf: decoded.prefix(taken))
                    return taken
                }
            }
            isDrained = count == nil
            used = count.map { used + $0 } ?? end
        }
        try decoding.end()
        return plain
    }

    func check(_ input: [UInt8]) throws {
        guard let first = input.first else { return }
        let codings = Self.choices[Int(first) % Self.choices.count]
        let coded = Array(input.dropFirst())
        do {
            let short = try decode(codings, coded, Self.limit)
            try hold(short.map { $0.count <= Int(Self.limit.rawValue) } ?? true, "\(short?.count ?? 0) bytes are kept")
            guard let short, let long = try decode(codings, coded, .mebibytes(64)) else { return }
            try hold(short == long, "another body with another limit")
            let streamed = try Self.streamed(codings, coded, fingerprint(input))
            try hold(streamed == long, "another body if it is decoded as it comes")
        } catch let error as TransferError {
            try hold([.httpProtocol, .integrityLength].contains(error.code), "\(error.code): \(error.message)")
        }
    }
}
