import Glibc
import TransferModel

/// Part files of volatile sessions whose daemon was killed. No store knows them, so they are recognised by name and
/// age.
package enum AbandonedParts {
    /// Seconds without a change. A running transfer writes within its timeouts. A task that another daemon has kept
    /// paused for longer starts over.
    package static let age: Int64 = 86_400

    /// Tells whether a name is that of a volatile task's part file.
    package static func isVolatile(_ name: String) -> Bool {
        guard PartName.isPartName(name) else { return false }
        let middle = name.dropLast(PartName.suffix.count).split(separator: ".").last ?? ""
        let parts = middle.split(separator: "-")
        guard parts.count >= 2, let number = Int64(parts[1]) else { return false }
        return TaskID(number).isVolatile
    }

    /// Removes such part files from a folder if they belong to `owner` or to this process's user, and not to `store`.
    /// Blocks.
    /// - Parameters:
    ///   - store: part files of this store are never abandoned.
    ///   - now: seconds since 1970.
    package static func remove(from folder: Folder, owner: UserID, store: String, now: Int64) {
        let names = names(in: folder).filter { isVolatile($0) && PartName.task(of: $0, store: store) == nil }
        let abandoned = names.filter { name in
            guard let status = try? folder.status(of: name), isRegular(status) else { return false }
            return (status.st_uid == owner.rawValue || status.st_uid == geteuid())
                && Int64(status.st_mtim.tv_sec) < now - age
        }
        guard !abandoned.isEmpty else { return }
        folder.unlinkDurably(abandoned)
    }

    private static func names(in folder: Folder) -> [String] {
        guard let stream = folder.listing() else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // A long listing consists mostly of the user's own files, so only hidden names are examined.
            guard entry.pointee.d_name.0 == CChar(UInt8(ascii: ".")) else { continue }
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }
}
