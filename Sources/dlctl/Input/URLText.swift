/// Reads the parts of URLs that the command line needs. The daemon parses URLs completely.
enum URLText {
    /// Returns the host of a URL in lower case, without user info, port and brackets. A text without a scheme begins
    /// with its host.
    static func host(_ url: String) -> String {
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        let authority = url.utf8[start...].prefix { !"/?#\\".utf8.contains($0) }
        let place = Substring(
            authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).last ?? authority)
        let host =
            place.utf8.first == UInt8(ascii: "[")
            ? Substring(place.utf8.dropFirst().prefix { $0 != UInt8(ascii: "]") })
            : Substring(place.utf8.prefix { $0 != UInt8(ascii: ":") })
        return host.lowercased()
    }
}
