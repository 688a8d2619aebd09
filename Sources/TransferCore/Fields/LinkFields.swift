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
        for field in fields where field.isNamed("link") {
            var rest = field.value[...].utf8
            while let link = next(&rest) {
                // An anchor means that the link belongs to another resource.
                guard link.parameters["anchor"] == nil,
                    link.parameters["rel"]?.lowercased().split(separator: " ").contains("duplicate") == true,
                    let url = try? URLRules.resolve(link.target, against: base),
                    !found.contains(where: { $0.url == url.requestURL })
                else { continue }
                let priority = link.parameters["pri"].flatMap { Int($0) } ?? lowest
                found.append(Duplicate(url: url.requestURL, priority: min(max(priority, 1), lowest)))
            }
        }
        return found.enumerated().sorted { ($0.1.priority, $0.0) < ($1.1.priority, $1.0) }.map(\.1)
    }

    private static let lowest = 999_999

    /// The next link of a field value (RFC 8288, appendix B.2): names in lower case; the first parameter of each name
    /// counts.
    private static func next(_ rest: inout Substring.UTF8View) -> (target: String, parameters: [String: String])? {
        _ = rest.take { ", \t".utf8.contains($0) }
        guard rest.take("<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let target = String(Substring(rest[..<end]))
        rest = rest[rest.index(after: end)...]
        var parameters: [String: String] = [:]
        while true {
            rest.skipBlanks()
            guard rest.take(";") else { return (target, parameters) }
            rest.skipBlanks()
            let name = rest.take { !"=;, \t".utf8.contains($0) }.lowercased()
            let value = rest.takeArgument(until: ";, \t") ?? ""
            if !name.isEmpty, parameters[name] == nil { parameters[name] = value }
        }
    }
}
