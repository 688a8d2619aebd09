/// What a request does with stored answers; names follow NSURLRequest.CachePolicy.
public enum RequestCachePolicy: String, Word {
    /// RFC 9111: fresh answers are used, stale ones validated.
    case useProtocolCachePolicy
    /// Asks the server, and caches on the way to ask it too.
    case reloadIgnoringLocalCacheData
    /// As `reloadIgnoringLocalCacheData`, which also tells every cache on the way.
    case reloadIgnoringLocalAndRemoteCacheData
    /// Uses a stored answer whatever its age.
    case returnCacheDataElseLoad
    /// Uses a stored answer whatever its age, and never the network.
    case returnCacheDataDontLoad
    /// Validates what is stored, however fresh.
    case reloadRevalidatingCacheData
}

/// How much a cache keeps; names follow URLCache.
public struct CacheCapacities: Hashable, Sendable {
    /// 4 MiB unless set.
    public var memoryCapacity: ByteCount?
    /// 20 MiB unless set; `ephemeral` sessions keep nothing on a disk.
    public var diskCapacity: ByteCount?

    public init(memoryCapacity: ByteCount? = nil, diskCapacity: ByteCount? = nil) {
        self.memoryCapacity = memoryCapacity
        self.diskCapacity = diskCapacity
    }
}

extension CacheCapacities: Codable {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case memoryCapacity, diskCapacity
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        memoryCapacity = try fields.value(.memoryCapacity)
        diskCapacity = try fields.value(.diskCapacity)
    }
}
