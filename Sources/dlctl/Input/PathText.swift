/// Makes paths absolute before they are sent, because the daemon has another current folder.
enum PathText {
    /// `path` relative to `folder`, without `.` and empty components. `..` stays, because only the kernel knows the
    /// links.
    /// - Parameter folder: if it is empty, a relative path is not changed, and the daemon refuses it.
    static func absolute(_ path: String, in folder: String) -> String {
        guard !folder.isEmpty || path.utf8.first == slash else { return path }
        let whole = path.utf8.first == slash ? path : folder + "/" + path
        return "/" + components(whole).filter { $0 != "." }.joined(separator: "/")
    }

    private static let slash = UInt8(ascii: "/")

    /// Splits at bytes: a combining mark after a slash would hide it from characters.
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
