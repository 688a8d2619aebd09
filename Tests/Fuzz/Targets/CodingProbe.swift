import FileKit
import TransferCore
import TransferModel

/// Content codings: whatever a server sends ends in a body within its bounds or in an error of the codes it may have. The
/// first byte chooses the codings.
struct CodingProbe: Probe {
    var decode: @Sendable ([ContentCodingRules.Undoable], [UInt8], _ limit: ByteCount) throws -> [UInt8]?

    private static let choices: [[ContentCodingRules.Undoable]] = [
        [.gzip], [.deflate], [.br], [.zstd], [.gzip, .gzip], [.zstd, .br], [.br, .gzip], [.deflate, .zstd],
    ]
    /// Shorter than what some of the committed inputs become.
    private static let limit: ByteCount = 16

    static let target = FuzzTarget(
        "content-coding",
        words: [
            "\u{1f}\u{8b}\u{8}\0\0\0\0\0\0\u{3}", "(\u{b5}/\u{fd}", "Q*M\u{18}\u{3}\0\0\0", "\u{a1}\u{80}\0", "x\u{9c}",
            "\u{3}\0", "\0\0\0\0",
        ],
        CodingProbe { try ContentDecoding($0).decode($1, atMost: $2) },
        // The limit is the caller's to look at.
        planted: CodingProbe { codings, coded, _ in try ContentDecoding(codings).decode(coded, atMost: .mebibytes(8)) })

    func check(_ input: [UInt8]) throws {
        guard let first = input.first else { return }
        let codings = Self.choices[Int(first) % Self.choices.count]
        let coded = Array(input.dropFirst())
        do {
            let short = try decode(codings, coded, Self.limit)
            try hold(short.map { $0.count <= Int(Self.limit.rawValue) } ?? true, "\(short?.count ?? 0) bytes are kept")
            guard let short, let long = try decode(codings, coded, .mebibytes(64)) else { return }
            try hold(short == long, "another body with another limit")
        } catch let error as TransferError {
            try hold([.httpProtocol, .integrityLength].contains(error.code), "\(error.code): \(error.message)")
        }
    }
}
