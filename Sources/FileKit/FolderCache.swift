import Threading
import TransferModel

/// Destination folders that attempts hold open, by path and owner. A thousand small files for one folder open it only
/// once.
///
/// The cache itself keeps no folder open.
package final class FolderCache: Sendable {
    private struct Key: Hashable {
        var path: String
        var owner: UserID
    }

    private struct Entry {
        weak var folder: Folder?
    }

    private let entries = Guarded([Key: Entry]())
    /// Above this number of entries, those of closed folders are dropped.
    private static let sweepCount = 64

    package init() {}

    package func folder(at path: String, owner: UserID) -> Folder? {
        entries.withLock { $0[Key(path: path, owner: owner)]?.folder }
    }

    /// Returns the folder to use. If another attempt has opened the same folder meanwhile, that one is used.
    package func keep(_ folder: Folder, owner: UserID) -> Folder {
        entries.withLock { entries in
            let key = Key(path: folder.path, owner: owner)
            if let known = entries[key]?.folder, known.identity == folder.identity { return known }
            if entries.count >= Self.sweepCount { entries = entries.filter { $0.value.folder != nil } }
            entries[key] = Entry(folder: folder)
            return folder
        }
    }

    /// Makes the next attempt open the path again, because something failed in this folder.
    package func forget(_ folder: Folder, owner: UserID) {
        entries.withLock { entries in
            let key = Key(path: folder.path, owner: owner)
            if entries[key]?.folder === folder { entries[key] = nil }
        }
    }
}
