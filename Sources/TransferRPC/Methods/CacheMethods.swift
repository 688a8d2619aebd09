import TransferModel

public struct CacheInfo: WireObject, Hashable {
    public var storage: String?

    public init(storage: String? = nil) { self.storage = storage }

    public static let shape = Shape("CacheInfo", Self()) { row in
        row("storage", \.storage, storageText)
    }
}

public struct Caches: WireObject, Hashable {
    public var storages: [CacheStorageView]

    public init(storages: [CacheStorageView]) { self.storages = storages }

    public static let shape = Shape("Caches", Self(storages: [])) { row in
        row("storages", \.storages, "Storages that are not empty, ordered by name.")
    }
}

/// One cache of a user.
public struct CacheStorageView: WireObject, Hashable {
    public var storage: String
    public var memoryUsage: ByteCount
    public var memoryEntries: Int
    public var diskUsage: ByteCount
    public var diskEntries: Int

    public init(
        storage: String, memoryUsage: ByteCount, memoryEntries: Int, diskUsage: ByteCount, diskEntries: Int
    ) {
        self.storage = storage
        self.memoryUsage = memoryUsage
        self.memoryEntries = memoryEntries
        self.diskUsage = diskUsage
        self.diskEntries = diskEntries
    }

    public static let shape = Shape(
        "CacheStorage", Self(storage: "", memoryUsage: 0, memoryEntries: 0, diskUsage: 0, diskEntries: 0)
    ) { row in
        row("storage", \.storage, "`shared`: the user's own; otherwise the session's id.")
        row("memoryUsage", \.memoryUsage, "Bytes in memory, including 512 for each answer.")
        row("memoryEntries", \.memoryEntries, "Answers in memory. Most of them are on the disk too.")
        row("diskUsage", \.diskUsage, "Bytes on the disk, including 512 for each answer.")
        row("diskEntries", \.diskEntries, "Answers on the disk.")
    }
}

public struct RemoveCached: WireObject, Hashable {
    public var storage: String?
    public var url: String?
    public var since: Timestamp?

    public init(storage: String? = nil, url: String? = nil, since: Timestamp? = nil) {
        self.storage = storage
        self.url = url
        self.since = since
    }

    public static let shape = Shape("RemoveCached", Self()) { row in
        row("storage", \.storage, storageText)
        row("url", \.url, "Only answers for this URL, in all variants.")
        row("since", \.since, "Only answers that arrived, or were confirmed, at or after this time.")
    }
}

public struct RemovedCached: WireObject, Hashable {
    public var memoryEntries: Int
    public var diskEntries: Int

    public init(memoryEntries: Int, diskEntries: Int) {
        self.memoryEntries = memoryEntries
        self.diskEntries = diskEntries
    }

    public static let shape = Shape("RemovedCached", Self(memoryEntries: 0, diskEntries: 0)) { row in
        row("memoryEntries", \.memoryEntries, "Number of answers removed from memory.")
        row("diskEntries", \.diskEntries, "Number of answers removed from the disk.")
    }
}

private let storageText = "`shared`: the user's own; otherwise the id of a session that has its own; default: all."
