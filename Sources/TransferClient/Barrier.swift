import Glibc

/// The first folder or file on the path to a socket or file whose mode keeps this user out, and the users that it
/// admits.
package struct Barrier {
    package let path: String
    private let status: stat
    private let isFolder: Bool

    /// nil if no mode blocks access. Access control lists are not checked.
    /// - Parameter path: a socket, or a file to be created.
    package init?(to path: String) {
        var status = stat()
        var folder = ""
        for name in path.split(separator: "/").dropLast() {
            folder += "/" + name
            guard stat(folder, &status) == 0, access(folder, X_OK) != 0, errno == EACCES else { continue }
            self.init(path: folder, status: status, isFolder: true)
            return
        }
        guard stat(path, &status) == 0, access(path, W_OK) != 0, errno == EACCES else { return nil }
        self.init(path: path, status: status, isFolder: false)
    }

    private init(path: String, status: stat, isFolder: Bool) {
        self.path = path
        self.status = status
        self.isFolder = isFolder
    }

    package var mode: String {
        let digits = String(status.st_mode & 0o7777, radix: 8)
        return "0" + String(repeating: "0", count: max(0, 3 - digits.count)) + digits
    }

    /// Tells whether this user may change it.
    package var isOwn: Bool { status.st_uid == geteuid() }

    /// The users that connect(2) admits: those who may write to the socket and search each folder (path_resolution(7)).
    var admitted: String {
        let needed: mode_t = isFolder ? 0o1 : 0o2
        if status.st_mode & needed != 0 { return "everybody but its owner or group" }
        var who: [String] = []
        if status.st_mode & (needed << 6) != 0 { who.append("user \(Self.user(status.st_uid))") }
        if status.st_mode & (needed << 3) != 0 { who.append("members of group \(Self.group(status.st_gid))") }
        return who.isEmpty ? "root alone" : who.joined(separator: " and ")
    }

    static func user(_ id: uid_t) -> String {
        guard let entry = getpwuid(id), let name = entry.pointee.pw_name else { return "\(id)" }
        return "\(String(cString: name)) (\(id))"
    }

    private static func group(_ id: gid_t) -> String {
        guard let entry = getgrgid(id), let name = entry.pointee.gr_name else { return "\(id)" }
        return String(cString: name)
    }
}
