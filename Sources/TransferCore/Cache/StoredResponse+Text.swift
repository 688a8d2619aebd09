import TransferModel

/// The head as a text, for a store that does not read it.
extension StoredResponse {
    /// Status, version and reason, then a line `name: value` for each field; nil for what has a line break in it.
    package var text: String? {
        let lines =
            ["\(status)", httpVersion ?? "", reason ?? ""] + headers.map { "\($0.name): \($0.value)" }
        return lines.contains { $0.utf8.contains(UInt8(ascii: "\n")) } ? nil : lines.joined(separator: "\n")
    }

    /// nil if the text is none that was written.
    package init?(text: String, selection: String, requestTime: Int64, responseTime: Int64) {
        // Bytes, not characters: a value may begin with a mark that would join the blank before it.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
        guard lines.count >= 3, let status = Int(lines[0]) else { return nil }
        var headers: [HeaderField] = []
        for line in lines[3...] {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), line.utf8[colon...].starts(with: ": ".utf8)
            else { return nil }
            let value = line.utf8[colon...].dropFirst(2)
            headers.append(HeaderField(String(Substring(line.utf8[..<colon])), String(Substring(value))))
        }
        self.init(
            status: status, httpVersion: lines[1].isEmpty ? nil : lines[1],
            reason: lines[2].isEmpty ? nil : lines[2], headers: headers, requestTime: requestTime,
            responseTime: responseTime, selection: CacheSelection(text: selection))
    }
}
