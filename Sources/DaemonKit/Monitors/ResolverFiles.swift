import CLinux
import DaemonSetup
import Glibc

/// The files that configure name resolution, and whether they have changed.
///
/// Uses inotify(7) on each file, on its folder, and on the folders of the links that lead to it, because editors and
/// daemons replace a file by a new one.
struct ResolverFiles: Sendable {
    /// resolv.conf(5), hosts(5), and systemd-resolved's own list of servers, which changes although the stub named by
    /// /etc/resolv.conf stays the same.
    static let ofSystem = ResolverFiles(
        paths: ["/etc/resolv.conf", "/etc/hosts", "/run/systemd/resolve/resolv.conf"])

    let paths: [String]

    private static let mostLinks = 16
    private static let largest = 1 << 20

    /// The contents of the files; "" for a file that is missing or cannot be read.
    var content: [String] {
        paths.map { path in
            switch FileText.read(path, limit: Self.largest) {
            case .missing, .failed: ""
            case .text(let text): text
            }
        }
    }

    /// Returns a new descriptor that becomes readable when one of the files may have changed; negative if no descriptor
    /// is left.
    func watch() -> Int32 {
        let names = dld_names_create()
        guard names >= 0 else { return names }
        for path in paths {
            for place in Self.way(to: path) { _ = dld_names_watch_content(names, Self.folder(of: place), 1) }
            _ = dld_names_watch_content(names, path, 0)
        }
        return names
    }

    /// Returns the path, and the target of each link that its last component leads to.
    private static func way(to path: String) -> [String] {
        var way = [path]
        while way.count < mostLinks, let target = link(way[way.count - 1]) {
            way.append(target.hasPrefix("/") ? target : folder(of: way[way.count - 1]) + "/" + target)
        }
        return way
    }

    private static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            return count > 0 ? String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self) : nil
        }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
