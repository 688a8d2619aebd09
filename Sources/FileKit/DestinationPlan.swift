import Glibc
import TransferModel

/// Where a download is to be delivered. Decided when the task is added, and opened again whenever it runs.
package struct DestinationPlan: Sendable, Hashable {
    /// The absolute path of the folder.
    package var folder: String
    /// The file's name if the task names it; nil if the server's answer does.
    package var name: String?

    /// Checks only the text; no file is examined.
    /// - Parameter destination: the task's destination, with the folder that it got when it was added.
    /// - Throws: `destination.bad_path`, or `request.bad_field` for a contradictory destination.
    package init(_ destination: Destination?) throws(TransferError) {
        if let path = destination?.path {
            guard destination?.directory == nil, destination?.filename == nil else {
                throw TransferError.bad("destination", "say either path, or directory and filename.")
            }
            (folder, name) = try Self.split(path)
            return
        }
        guard let folder = destination?.directory else {
            throw TransferError.bad("destination", "missing; say where the file goes, or give the session a directory.")
        }
        try PathRules.requireAbsolute(folder)
        if let name = destination?.filename { try PathRules.requireName(name) }
        self.folder = folder
        name = destination?.filename
    }

    private static func split(_ path: String) throws(TransferError) -> (folder: String, name: String) {
        try PathRules.requireAbsolute(path)
        guard path.utf8.last != UInt8(ascii: "/") else {
            throw PathRules.bad(
                path, "that names a folder; give it as directory (dlctl add -d), or add the file's name")
        }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        let name = String(path[path.utf8.index(after: slash)...])
        try PathRules.requireName(name)
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    /// The absolute path of `name` in the folder.
    package func path(of name: String) -> String { folder.hasSuffix("/") ? folder + name : folder + "/" + name }

    /// The names of a task's part files, including the one for its decoded body.
    package func partNames(task: TaskID, store: String) -> [String] {
        (0...1).map { PartName.make(task: task, store: store, wanted: name, attempt: $0) }
    }

    /// Checks the file system when the task is added: creates missing folders and refuses what cannot work.
    /// - Parameters:
    ///   - known: the same folder, if another task of the call has just been admitted to it.
    ///   - hasOnlyFiles: the folder holds only files and symbolic links.
    /// - Returns: the folder, whose `device` the task records.
    /// - Throws: `destination.bad_path`, `destination.not_writable`, `permission.denied`, `disk.*`.
    func admit(
        _ access: FileAccess, owner: UserID, known: Folder? = nil, hasOnlyFiles: Bool = false
    ) throws(TransferError) -> Folder {
        let opened = if let known { known } else { try writableFolder(access, owner: owner) }
        if let name, let fault = opened.names.fault(of: name) { throw PathRules.bad(opened.path(of: name), fault) }
        guard let name, !(hasOnlyFiles && PathRules.isPortable(name)), let present = try opened.status(of: name) else {
            return opened
        }
        if isFolder(present) {
            throw PathRules.bad(
                opened.path(of: name), "that is a folder; give it as directory (dlctl add -d), or add the file's name")
        }
        if !isRegular(present), !isLink(present) {
            throw PathRules.bad(opened.path(of: name), "that is a device, fifo or socket")
        }
        return opened
    }

    /// Like `admit` for each of `plans`, which share their folder. If there are many and the folder has only files, one
    /// reading of the folder stands for a look at each name.
    /// - Returns: the device of each. The list ends with the first refusal.
    package static func admit(
        _ plans: ArraySlice<DestinationPlan>, _ access: FileAccess, owner: UserID
    ) -> [Result<UInt64, TransferError>] {
        var looks: [Result<UInt64, TransferError>] = []
        looks.reserveCapacity(plans.count)
        var known: Folder?
        var hasOnlyFiles = false
        for index in plans.indices {
            do throws(TransferError) {
                let folder = try plans[index].admit(access, owner: owner, known: known, hasOnlyFiles: hasOnlyFiles)
                if known == nil, plans.count >= manyPlans { hasOnlyFiles = folder.hasOnlyFiles(atMost: plans.count) }
                known = folder
                looks.append(.success(folder.device))
            } catch {
                looks.append(.failure(error))
                break
            }
        }
        return looks
    }

    /// Looking at this many names costs much more than opening a folder to read it.
    private static let manyPlans = 16

    private func writableFolder(_ access: FileAccess, owner: UserID) throws(TransferError) -> Folder {
        let opened = try access.openFolder(folder, owner: owner, create: true)
        try opened.requireWritable()
        return opened
    }

    /// Opens the folder in order to run the task. It is never created here: if it is missing or on another device, its
    /// disk is unplugged, and the task waits for it.
    /// - Parameter device: the device recorded when the task was added.
    /// - Throws: `disk.io` if the folder is absent; otherwise what `admit` throws.
    package func open(_ access: FileAccess, owner: UserID, device: UInt64?) throws(TransferError) -> Folder {
        let opened: Folder
        do {
            opened = try access.openFolder(folder, owner: owner, create: false)
        } catch  where error.code == .destinationBadPath {
            throw .targetAbsent(folder, "the folder is missing", .missing)
        }
        try check(opened, device: device)
        return opened
    }

    /// - Throws: `disk.io` if the folder is not on the device that was recorded when the task was added.
    package func check(_ opened: Folder, device: UInt64?) throws(TransferError) {
        if let device, opened.device != device {
            throw .targetAbsent(folder, "another file system is there than when the task was added", .otherFileSystem)
        }
    }
}
