/// Decides whether a body that came coded although identity was asked for is decoded at delivery.
package enum ContentCodingRules {
    private static let extensions: [String: [String]] = [
        "gzip": [".gz", ".tgz", ".gzip", ".svgz", ".taz"], "x-gzip": [".gz", ".tgz", ".gzip", ".svgz", ".taz"],
        "br": [".br"], "zstd": [".zst", ".zstd", ".tzst"], "compress": [".z"], "x-compress": [".z"],
        "deflate": [".deflate", ".zz"], "bzip2": [".bz2", ".tbz", ".tbz2"], "x-bzip2": [".bz2", ".tbz", ".tbz2"],
        "xz": [".xz", ".txz"],
    ]

    /// The coding to undo; nil where there is none, or where a name of the file already says it (`x.tar.gz`).
    /// - Parameter names: names that the file has or might get, the wanted one first: the first counts.
    package static func toDecode(_ coding: String?, names: [String]) -> String? {
        guard let coding else { return nil }
        guard let name = names.first?.lowercased(), let outermost = coding.split(separator: ",").last?.trimmed else {
            return coding
        }
        let says = extensions[outermost]?.contains { name.hasSuffix($0) } ?? false
        return says ? nil : coding
    }
}
