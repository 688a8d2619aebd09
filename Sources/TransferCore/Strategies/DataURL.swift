import TransferModel

/// Decodes data URLs (RFC 2397).
package enum DataURL {
    package struct Content: Sendable, Hashable {
        /// With its parameters, as written; `text/plain;charset=US-ASCII` if the URL names none.
        package var mediaType: String
        package var bytes: [UInt8]
    }

    /// - Throws: `request.bad_url`.
    package static func decode(_ url: String) throws(TransferError) -> Content {
        guard url.prefix(5).lowercased() == "data:" else { throw URLRules.bad("it is not a data URL") }
        let content = url.dropFirst(5).prefix { $0 != "#" }
        guard let comma = content.firstIndex(of: ",") else {
            throw URLRules.bad("a data URL needs a comma before its data")
        }
        var type = content[..<comma].trimmed
        let data = PercentCoding.decode(content[content.index(after: comma)...])
        guard let marker = base64Marker(type) else { return Content(mediaType: name(type), bytes: data) }
        type = String(type[..<marker])
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0C, 0x0D]
        let text = String(decoding: data.filter { !blanks.contains($0) }, as: UTF8.self)
        guard let bytes = Base64.decode(text) else { throw URLRules.bad("its data is not base64") }
        return Content(mediaType: name(type), bytes: bytes)
    }

    /// Index of `;base64`, if the type ends with it.
    private static func base64Marker(_ type: String) -> String.Index? {
        guard let semicolon = type.lastIndex(of: ";") else { return nil }
        return type[type.index(after: semicolon)...].trimmed.lowercased() == "base64" ? semicolon : nil
    }

    private static func name(_ type: String) -> String {
        if type.isEmpty { return "text/plain;charset=US-ASCII" }
        return type.hasPrefix(";") ? "text/plain" + type : type
    }
}
