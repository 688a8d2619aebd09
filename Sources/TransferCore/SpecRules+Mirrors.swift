import TransferModel

/// What a task says of the places that have its file.
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

    private func checkMirror(_ mirror: String, _ field: String) throws(TransferError) {
        let url: ParsedURL
        do {
            url = try URLRules.parse(mirror)
        } catch {
            throw TransferError(
                error.code, "\(name(field)): \(error.message)", details: ["field": .string(name(field))])
        }
        guard Origins.schemes.contains(url.scheme) else {
            throw bad(field, "a mirror is at http, https, ftp, ftps or sftp.")
        }
    }
}
