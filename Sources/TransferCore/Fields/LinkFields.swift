import TransferModel

/// Reads `Link` fields (RFC 8288 section 3) for the copies of a resource that a server names (RFC 6249).
package enum LinkFields {
    /// A copy at another server.
    package struct Duplicate: Hashable, Sendable {
        /// Absolute, http or https.
        package var url: String
        /// From 1, the most preferred, to 999,999, which also means no priority (RFC 6249 section 3.1).
        package var priority: Int
    }

    /// Links with the relation `duplicate`, the most preferred first; malformed ones are left out.
    /// - Parameter base: URL of the response; relative references are resolved against it.
    package static func duplicates(_ fields: [HeaderField], base: String) -> [Duplicate] {
        var found: [Duplicate] = []
        for field in fields where field.name.lowercased() == "link" {
            var reader = Reader(field.value)
            while let link = reader.next() {
                // An anchor means that the link belongs to another resource.
                guard link.parameters["anchor"] == nil,
                    link.parameters["rel"]?.lowercased().split(separator: " ").contains("duplicate") == true,
                    let url = try? URLReference.resolve(link.target, against: base),
                    !found.contains(where: { $0.url == url.requestURL })
                else { continue }
                let priority = link.parameters["pri"].flatMap { Int($0) } ?? lowest
                found.append(Duplicate(url: url.requestURL, priority: min(max(priority, 1), lowest)))
            }
        }
        return found.enumerated().sorted { ($0.1.priority, $0.0) < ($1.1.priority, $1.0) }.map(\.1)
    }

    private static let lowest = 999_999

    private struct Link {
        var target: String
        /// Names in lower case; the first parameter of each name counts.
        var parameters: [String: String] = [:]
    }

    /// Iterates over the links of one field value (RFC 8288, appendix B.2).
    private struct Reader {
        private var rest: Substring.UTF8View

        init(_ value: String) { rest = value[...].utf8 }

        mutating func next() -> Link? {
            skip { $0 == 32 || $0 == 9 || $0 == UInt8(ascii: ",") }
            guard rest.popFirst() == UInt8(ascii: "<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
                return nil
            }
            var link = Link(target: String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[rest.index(after: end)...]
            while true {
                skipSpace()
                guard rest.first == UInt8(ascii: ";") else { break }
                rest.removeFirst()
                let (name, value) = parameter()
                if !name.isEmpty, link.parameters[name] == nil { link.parameters[name] = value }
            }
            return link
        }

        private mutating func parameter() -> (String, String) {
            skipSpace()
            let name = rest.take { !"=;, \t".utf8.contains($0) }.lowercased()
            skipSpace()
            guard rest.first == UInt8(ascii: "=") else { return (name, "") }
            rest.removeFirst()
            skipSpace()
            if rest.first == UInt8(ascii: "\"") { return (name, rest.takeQuoted()) }
            return (name, rest.take { !";, \t".utf8.contains($0) })
        }

        private mutating func skip(while condition: (UInt8) -> Bool) { _ = rest.take(while: condition) }
        private mutating func skipSpace() { skip { $0 == 32 || $0 == 9 } }
    }
}
