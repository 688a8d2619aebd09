import TransferModel

/// The request's fields on which a stored answer depends, with their values (RFC 9111 section 4.1): those that its Vary
/// fields name, and Accept-Encoding, because bodies are kept decoded for tasks that leave the coding to the daemon.
package struct CacheSelection: Sendable, Hashable {
    /// A line `name: value` for each field, or `name` if the request has none, sorted.
    package let text: String

    package init(text: String) { self.text = text }

    /// The most fields on which an answer may depend.
    static let most = 64

    /// nil for `Vary: *`, which no request matches; if a name is not the name of a field; and for more than `most`
    /// fields.
    package init?(_ head: ResponseHead, _ request: [HeaderField]) {
        var names: Set<String> = ["accept-encoding"]
        for value in head.values("vary") {
            for name in value.utf8.split(separator: UInt8(ascii: ",")) {
                names.insert(String(Substring(name)).trimmed.lowercased())
            }
        }
        names.remove("")
        if names.contains("*") || names.count > Self.most || names.contains(where: { $0.utf8.contains(58) }) {
            return nil
        }
        text = names.sorted().map { Self.line($0, request) }.joined(separator: "\n")
    }

    private static func line(_ name: String, _ request: [HeaderField]) -> String {
        let values = request.values(named: name)
        return values.isEmpty ? name : "\(name): \(values.map(\.trimmed).joined(separator: ", "))"
    }

    /// Names of the fields.
    private var names: [String] {
        text.utf8.split(separator: UInt8(ascii: "\n")).map(Self.name)
    }

    private static func name(_ line: Substring.UTF8View) -> String {
        String(Substring(line.prefix { $0 != UInt8(ascii: ":") }))
    }

    package func matches(_ request: [HeaderField]) -> Bool {
        text.utf8.split(separator: UInt8(ascii: "\n")).allSatisfy { line in
            Self.line(Self.name(line), request) == Substring(line)
        }
    }

    /// It depends on a secret of the request, which must not be written to disk.
    package var namesSecrets: Bool {
        names.contains { ["authorization", "proxy-authorization", "cookie"].contains($0) }
    }
}
