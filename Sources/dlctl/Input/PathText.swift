/// Makes the paths that people give absolute before they travel: the daemon has another current folder.
enum PathText {
    /// `path` seen from `folder`, with `.` and empty components dropped; `..` is left to the kernel, which knows the links.
    /// - Parameter folder: where it is empty a relative path stays as it is, for the daemon to refuse.
    static func absolute(_ path: String, in folder: String) -> String {
        guard !folder.isEmpty || path.utf8.first == slash else { return path }
        let whole = path.utf8.first == slash ? path : folder + "/" + path
        return "/" + components(whole).filter { $0 != "." }.joined(separator: "/")
    }

    private static let slash = UInt8(ascii: "/")

    /// Split at bytes: a mark that combines with a slash would hide it from characters.
    private static func components(_ path: String) -> [String] {
        path.utf8.split(separator: slash).compactMap { String($0) }
    }

    static func lastComponent(_ path: String) -> String {
        components(path).last ?? path
    }

    static func folder(of path: String) -> String {
        let parts = components(path).dropLast()
        return "/" + parts.joined(separator: "/")
    }
}
