import TransferModel

/// Checks of a task's mirrors and pieces.
extension SpecRules {
    func checkMirrors(_ spec: TaskSpec) throws(TransferError) {
        guard let mirrors = spec.mirrors, !mirrors.isEmpty else { return }
        guard spec.kind == .download, (spec.method ?? "GET").uppercased() == "GET", spec.body == nil else {
            throw bad("mirrors", "only downloads have them, by GET and without a body.")
        }
        guard mirrors.count <= Origins.limit else { throw bad("mirrors", "at most \(Origins.limit) of them.") }
        if let url = spec.url, let scheme = try? URLRules.parse(url).scheme, !Origins.schemes.contains(scheme) {
            throw bad("mirrors", "a \(scheme.rawValue) URL has none.")
        }
        for (index, mirror) in mirrors.enumerated() { try checkMirror(mirror, "mirrors[\(index)]") }
    }

    func checkPieces(_ spec: TaskSpec) throws(TransferError) {
        if let size = spec.size, size < .zero { throw bad("size", "a number of bytes.") }
        guard let pieces = spec.pieces else { return }
        guard pieces.length > .zero else { throw bad("pieces.length", "at least one byte.") }
        let most = min(Bounds.pieces, Bounds.pieceDigits / pieces.algorithm.hexLength)
        guard (1...most).contains(pieces.values.count) else {
            throw bad("pieces.values", "from 1 to \(most) digests of \(pieces.algorithm.rawValue).")
        }
        guard Bounds.allows(pieces) else {
            throw bad("pieces.length", "several pieces have at least \(Bounds.leastPiece) bytes each.")
        }
        if let size = spec.size, (try? PieceMap(pieces, of: size)) == nil {
            throw bad(
                "pieces.values",
                "\(pieces.values.count) pieces of \(pieces.length) bytes do not add up to \(size) bytes.")
        }
        for (index, value) in pieces.values.enumerated() {
            try checkDigest(value, pieces.algorithm, "pieces.values[\(index)]")
        }
    }

    private func checkMirror(_ mirror: String, _ field: String) throws(TransferError) {
        let url: ParsedURL
        do {
            url = try URLRules.parse(mirror)
        } catch {
            throw bad(field, error.message, error.code)
        }
        guard Origins.schemes.contains(url.scheme) else {
            throw bad(field, "a mirror is at http, https, ftp, ftps or sftp.")
        }
        if let why = url.whyNoFile { throw bad(field, why) }
    }
}
