import FoundationEssentials

/// Base64 (RFC 4648) as header fields and data URLs carry it.
enum Base64 {
    /// nil if the text is not base64; missing padding is tolerated.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var padded = String(text)
        while padded.utf8.count % 4 != 0 { padded += "=" }
        return Data(base64Encoded: padded).map { Array($0) }
    }
}

extension [UInt8] {
    /// With padding (RFC 4648 section 4).
    package var base64: String { Data(self).base64EncodedString() }
}
