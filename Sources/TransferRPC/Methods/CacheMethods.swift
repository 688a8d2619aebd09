import TransferModel

/// The contents of the asking user's caches.
public enum CacheInfo: RPCMethod {
    public static let name = "cache.info"
    public static let summary =
        """
        How much the caller's caches hold, by storage: the caller's own and those of the caller's sessions. Storages of \
        volatile sessions of other connections are left out.
        """
    public static let errors: [ErrorCode] = [.badField, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var storage: String?

        public init(storage: String? = nil) { self.storage = storage }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case storage
        }

        public static let wireName = "CacheInfo"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .storage: .optional(.string, CacheText.storage)
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var storages: [CacheStorageView]

        public init(storages: [CacheStorageView]) { self.storages = storages }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case storages
        }

        public static let wireName = "Caches"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .storages:
                .required(.list(.object(CacheStorageView.self)), "Storages that are not empty, ordered by name.")
            }
        }
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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case storage, memoryUsage, memoryEntries, diskUsage, diskEntries
    }

    public static let wireName = "CacheStorage"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .storage: .required(.string, "`shared`: the user's own; otherwise the session's id.")
        case .memoryUsage: .required(.byteCount, "Bytes in memory, including 512 for each answer.")
        case .memoryEntries: .required(.integer, "Answers in memory. Most of them are on the disk too.")
        case .diskUsage: .required(.byteCount, "Bytes on the disk, including 512 for each answer.")
        case .diskEntries: .required(.integer, "Answers on the disk.")
        }
    }
}

/// Removes answers from the asking user's caches.
public enum RemoveCached: RPCMethod {
    public static let name = "cache.remove"
    public static let summary =
        "Removes the caller's stored answers that match every given parameter; without any, all of them."
    public static let errors: [ErrorCode] = [.badField, .badURL, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var storage: String?
        public var url: String?
        public var since: Timestamp?

        public init(storage: String? = nil, url: String? = nil, since: Timestamp? = nil) {
            self.storage = storage
            self.url = url
            self.since = since
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case storage, url, since
        }

        public static let wireName = "RemoveCached"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .storage: .optional(.string, CacheText.storage)
            case .url: .optional(.string, "Only answers for this URL, in all variants.")
            case .since: .optional(.time, "Only answers that arrived, or were confirmed, at or after this time.")
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var memoryEntries: Int
        public var diskEntries: Int

        public init(memoryEntries: Int, diskEntries: Int) {
            self.memoryEntries = memoryEntries
            self.diskEntries = diskEntries
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case memoryEntries, diskEntries
        }

        public static let wireName = "RemovedCached"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .memoryEntries: .required(.integer, "Number of answers removed from memory.")
            case .diskEntries: .required(.integer, "Number of answers removed from the disk.")
            }
        }
    }
}

enum CacheText {
    static let storage = "`shared`: the user's own; otherwise the id of a session that has its own; default: all."
}
