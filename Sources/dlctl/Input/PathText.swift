/// Makes the paths that people give absolute before they travel: the daemon has another current folder.
enum PathText {
    /// `path` seen from `folder`, with `.` and empty components dropped; `..` is left to the kernel, which knows the links.
    static func absolute(_ path: String, in folder: String) -> String {
        let whole = path.hasPrefix("/") ? path : folder + "/" + path
        let kept = whole.split(separator: "/").filter { $0 != "." }
        return "/" + kept.joined(separator: "/")
    }

    static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    static func folder(of path: String) -> String {
        let parts = path.split(separator: "/").dropLast()
        return "/" + parts.joined(separator: "/")
    }
}
