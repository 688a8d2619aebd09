import Glibc

/// A socket's path in the form that fits into a socket address: `sun_path` has 108 bytes including its NUL (unix(7)). A
/// longer path is reached through its open folder, below /proc/self/fd.
package struct SocketAddressPath {
    /// The text for the address. Valid until `close`.
    let text: String
    private let folder: Int32

    package static let longest = 107
    /// open(2): O_PATH, which glibc shows only to programs that define _GNU_SOURCE.
    private static let pathOnly: Int32 = 0o10000000
    /// The longest name if its folder is reached by number.
    static let longestName = longest - "/proc/self/fd/2147483647/".utf8.count

    /// nil if the folder cannot be opened; errno says why.
    init?(_ path: String) {
        guard path.utf8.count > Self.longest, let slash = path.lastIndex(of: "/") else {
            text = path
            folder = -1
            return
        }
        let descriptor = open(String(path[..<slash]), Self.pathOnly | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        folder = descriptor
        text = "/proc/self/fd/\(descriptor)/\(path[path.index(after: slash)...])"
    }

    func close() { if folder >= 0 { _ = Glibc.close(folder) } }

    /// Calls `body` with the address.
    func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: text.utf8.prefix(Self.longest)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
