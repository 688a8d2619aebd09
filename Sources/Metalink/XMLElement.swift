/// One element of a small document, with its namespaces resolved.
struct XMLElement: Hashable, Sendable {
    /// Two names are the same if both parts are equal (Namespaces in XML 1.0, section 6.2).
    struct Name: Hashable, Sendable {
        var namespace: String
        var local: String
    }

    var name: Name
    /// Attributes without a namespace. Those of other vocabularies are left out.
    var attributes: [String: String] = [:]
    var children: [XMLElement] = []
    /// The character data directly in this element.
    var text = ""

    /// The children in this element's own namespace with this local name.
    func all(_ local: String) -> [XMLElement] {
        children.filter { $0.name == Name(namespace: name.namespace, local: local) }
    }

    func first(_ local: String) -> XMLElement? { all(local).first }

    /// The text without the white space around it.
    var trimmedText: String {
        let isSpace: (UInt8) -> Bool = { $0 == 32 || (9...13).contains($0) }
        let bytes = Array(text.utf8)
        guard let first = bytes.firstIndex(where: { !isSpace($0) }),
            let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }
}

/// Why a document cannot be read, and where.
struct XMLMalformed: Error, Hashable, CustomStringConvertible {
    /// Counted from 1.
    var line: Int
    var problem: String

    var description: String { "line \(line): \(problem)" }
}
