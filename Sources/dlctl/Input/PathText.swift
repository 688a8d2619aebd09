import Glibc
import TransferModel

/// Makes paths absolute before they are sent, because the daemon has another current folder.
enum PathText {
    /// `path` relative to `folder`, without `.` and empty components. Where `..` leads, only the kernel knows, because of
    /// links: it is asked, and `..` stays if the folders do not exist.
    /// - Parameter folder: if it is empty, a relative path is not changed, and the daemon refuses it.
    static func absolute(_ path: String, in folder: String) -> String {
        guard !folder.isEmpty || path.utf8.first == slash else { return path }
        let whole = path.utf8.first == slash ? path : folder + "/" + path
        let parts = components(whole).filter { $0 != "." }
        guard let last = parts.lastIndex(of: "..") else { return "/" + parts.joined(separator: "/") }
        let upward = "/" + parts[...last].joined(separator: "/")
        return ([real(upward) ?? upward] + parts[(last + 1)...]).joined(separator: "/")
            .replacing("//", with: "/", maxReplacements: 1)
    }

    /// Refuses the path of a destination that cannot be meant.
    static func check(_ path: String, of option: String, in folder: String) throws(CommandFailure) {
        let text = Printable.text(path, limit: 60)
        if path == "~" || path.hasPrefix("~/") {
            throw CommandFailure.usage(
                "\(option): the shell replaces ~ only at the start of an unquoted word, as in '\(option) ~/f'; for a name with ~, "
                    + "say ./\(text)")
        }
        let place = absolute(path, in: folder) + "/"
        if let system = ["/proc/", "/sys/"].first(where: place.hasPrefix) {
            throw CommandFailure.usage(
                "\(option): no file can be saved in \(system.dropLast()), which the kernel makes; choose another folder"
            )
        }
    }

    /// The path without links and `..` (realpath(3)); nil if it does not exist, or is not UTF-8.
    private static func real(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(validatingCString: found)
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

    /// What is wrong with the current folder if its path is empty.
    static var currentFault: String {
        guard let name = getcwd(nil, 0) else { return errno == ENOENT ? "no longer exists" : "cannot be read" }
        free(name)
        return "has a name that is not valid UTF-8"
    }

    /// The folder in which dlctl was started: absolute; empty if there is none that JSON, which is UTF-8, can name.
    static var current: String {
        guard let name = getcwd(nil, 0) else { return "" }
        defer { free(name) }
        return String(validatingCString: name) ?? ""
    }
}
