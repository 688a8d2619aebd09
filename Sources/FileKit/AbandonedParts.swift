import Glibc
import TransferModel

/// Part files of volatile sessions whose daemon was killed: no store knows of them, so their names and their age must say it.
package enum AbandonedParts {
    /// Seconds without a change. A transfer that runs writes within its timeouts; what another daemon holds paused for longer
    /// begins again from 0.
    package static let age: Int64 = 86_400

    /// Whether a name is that of a volatile task's part.
    package static func isVolatile(_ name: String) -> Bool {
        guard PartName.isPartName(name) else { return false }
        let middle = name.dropLast(PartName.suffix.count).split(separator: ".").last ?? ""
        let parts = middle.split(separator: "-")
        guard parts.count >= 2, let number = Int64(parts[1]) else { return false }
        return TaskID(number).isVolatile
    }

    /// Removes those of them from a folder that are of `owner` or of this process's user, and not of the task's own store.
    /// Blocks.
    /// - Parameters:
    ///   - store: parts of this one are never abandoned.
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
        let descriptor = openat(folder.fileDescriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        guard let stream = fdopendir(descriptor) else {
            close(descriptor)
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // Most of a long listing is somebody's files: only hidden names are looked at.
            guard entry.pointee.d_name.0 == CChar(UInt8(ascii: ".")) else { continue }
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }
}
