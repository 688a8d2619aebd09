import CLinux
import DaemonSetup
import Glibc

/// The files that say how names are resolved, and whether they have changed.
///
/// inotify(7) on each file, on the folder it is in, and on those of the links that lead to it: editors and daemons put a new
/// file in the place of the old one.
struct ResolverFiles: Sendable {
    /// resolv.conf(5), hosts(5). systemd-resolved's own list of servers changes behind the stub that /etc/resolv.conf names.
    static let ofSystem = ResolverFiles(
        paths: ["/etc/resolv.conf", "/etc/hosts", "/run/systemd/resolve/resolv.conf"])

    let paths: [String]

    private static let mostLinks = 16
    private static let largest = 1 << 20

    /// What they say; "" of one that is missing or cannot be read.
    var content: [String] {
        paths.map { path in
            switch FileText.read(path, limit: Self.largest) {
            case .missing, .failed: ""
            case .text(let text): text
            }
        }
    }

    /// A new descriptor that becomes readable when one of them may have changed; below 0 if there are none left.
    func watch() -> Int32 {
        let names = dld_names_create()
        guard names >= 0 else { return names }
        for path in paths {
            for place in Self.way(to: path) { _ = dld_names_watch_content(names, Self.folder(of: place), 1) }
            _ = dld_names_watch_content(names, path, 0)
        }
        return names
    }

    /// The path, and where each link on its last part leads.
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
