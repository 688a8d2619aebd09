/// How a request uses stored answers; names follow NSURLRequest.CachePolicy.
public enum RequestCachePolicy: String, Word {
    /// RFC 9111: fresh answers are used, stale ones validated.
    case useProtocolCachePolicy
    /// Asks the server with `no-cache`, so that caches on the way ask it too.
    case reloadIgnoringLocalCacheData
    /// Does the same as `reloadIgnoringLocalCacheData`.
    case reloadIgnoringLocalAndRemoteCacheData
    /// Uses a stored answer regardless of its age.
    case returnCacheDataElseLoad
    /// Uses a stored answer regardless of its age, and never the network.
    case returnCacheDataDontLoad
    /// Validates a stored answer even if it is fresh.
    case reloadRevalidatingCacheData
}

/// How much a cache may keep; names follow URLCache.
public struct CacheCapacities: Hashable, Sendable {
    public var memoryCapacity: ByteCount?
    /// 20 MiB unless set; `ephemeral` sessions keep nothing on disk.
    public var diskCapacity: ByteCount?

    public init(memoryCapacity: ByteCount? = nil, diskCapacity: ByteCount? = nil) {
        self.memoryCapacity = memoryCapacity
        self.diskCapacity = diskCapacity
    }
}

extension CacheCapacities: WireObject {
    public static let shape = Shape("CacheCapacities", Self()) { row in
        row(
            "memoryCapacity", \.memoryCapacity, "Bytes in memory; default: 4 MiB. One answer takes a twentieth at most."
        )
        row("diskCapacity", \.diskCapacity, "Bytes on the disk; default: 20 MiB. One answer takes a twentieth at most.")
    }
}
