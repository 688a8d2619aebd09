/// Makes paths absolute before they are sent: the daemon has another current folder.
enum PathText {
    /// `path` seen from `folder`, with `.` and empty components dropped; `..` is left in place, since only the kernel knows the links.
    /// - Parameter folder: if it is empty, a relative path is not changed, and the daemon refuses it.
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
