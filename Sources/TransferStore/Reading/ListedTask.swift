import TransferModel

/// A task of a page. Its spec and its answer remain text, which usually goes to a client unchanged: decoding and
/// encoding all their members was half of the cost of a page.
package struct ListedTask: Sendable {
    /// Its spec has only the kind, and it has no answer.
    package var record: TaskRecord
    /// The spec as `JSONColumn.encode` wrote it. Holds secrets.
    package var specText: String
    /// The answer, if there is one. Holds secrets.
    package var responseText: String?

    /// Bytes of both texts.
    package var length: Int { specText.utf8.count + (responseText?.utf8.count ?? 0) }

    /// The task with its spec and its answer.
    /// - Throws: `internal` if a stored text cannot be read.
    package func whole() throws -> TaskRecord {
        var whole = record
        whole.spec = try JSONColumn.decode(specText)
        whole.response = try responseText.map { try JSONColumn.decode($0) }
        return whole
    }

    /// Stands in for a spec of this kind.
    static func spec(_ kind: TaskKind) -> Boxed<TaskSpec> { specs[kind] ?? Boxed(wrappedValue: TaskSpec()) }

    private static let specs = Dictionary(
        uniqueKeysWithValues: TaskKind.allCases.map { kind in
            var spec = TaskSpec()
            spec.kind = kind
            return (kind, Boxed(wrappedValue: spec))
        })
}
