import TransferModel

/// How a task uses the cache, according to its session and itself. Sessions of kind `background` have no cache.
package struct CachePolicy: Sendable, Hashable {
    package var request: RequestCachePolicy
    /// The answers are the session's own, not its owner's.
    package var isOwn: Bool
    /// Bytes.
    package var memoryCapacity: Int
    /// Bytes; 0 for sessions that keep nothing on a disk.
    package var diskCapacity: Int
    /// The storage may have a part on disk, even if this session keeps nothing there, because another configuration may
    /// have kept answers there.
    package var hasDisk: Bool

    package static let memoryCapacity = 4 << 20
    package static let diskCapacity = 20 << 20
    /// One answer takes at most one part in this many of a capacity.
    package static let share = 20

    /// - Parameter kind: of the session.
    package init?(_ session: SessionConfiguration, _ kind: SessionKind) {
        switch kind {
        case .background: return nil
        case .default:
            isOwn = session.urlCache != nil
            hasDisk = true
            diskCapacity = session.urlCache?.diskCapacity.map { Int($0.rawValue) } ?? Self.diskCapacity
        case .ephemeral:
            isOwn = true
            hasDisk = false
            diskCapacity = 0
        }
        memoryCapacity = session.urlCache?.memoryCapacity.map { Int($0.rawValue) } ?? Self.memoryCapacity
        request = session.requestCachePolicy ?? .useProtocolCachePolicy
    }
}

extension RequestCachePolicy {
    /// A stored answer may be used without asking the server.
    package var usesStored: Bool {
        switch self {
        case .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData:
            false
        }
    }
}
