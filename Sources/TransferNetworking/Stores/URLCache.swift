import Threading
import TransferModel
import TransferRPC

/// Stored answers. Those that sessions store are the daemon's, by RFC 9111; those that `storeCachedResponse` stores are
/// kept in this process, and found by `cachedResponse` alone.
open class URLCache: NSObject, @unchecked Sendable {
    public typealias StoragePolicy = FoundationNetworking.URLCache.StoragePolicy

    private struct Values: Sendable {
        var responses: [String: (response: CachedURLResponse, time: Date)] = [:]
        var memoryCapacity = 4 << 20
        var diskCapacity = 20 << 20
        var usage = (memory: 0, disk: 0)
        var asked = Date.distantPast

        /// Drops the oldest answers until the rest fits.
        mutating func trim() {
            while responses.values.reduce(0, { $0 + $1.response.data.count }) > memoryCapacity,
                let oldest = responses.min(by: { $0.value.time < $1.value.time })
            {
                responses[oldest.key] = nil
            }
        }
    }

    private static let current = Guarded(URLCache(isShared: true))
    open class var shared: URLCache {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    private let values: Guarded<Values>
    /// The user's own storage.
    let isShared: Bool
    let directory: URL?
    let link = StoreLink()

    private init(isShared: Bool) {
        self.isShared = isShared
        directory = nil
        values = Guarded(Values())
    }

    /// A storage of its own for each session that has it.
    /// - Parameters:
    ///   - memoryCapacity: bytes.
    ///   - diskCapacity: bytes.
    ///   - directory: the daemon keeps answers in its own folder: no files are made here.
    public init(memoryCapacity: Int, diskCapacity: Int, directory: URL? = nil) {
        isShared = false
        self.directory = directory
        values = Guarded(Values(memoryCapacity: max(0, memoryCapacity), diskCapacity: max(0, diskCapacity)))
    }
    public convenience init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        self.init(
            memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, directory: path.map { URL(fileURLWithPath: $0) }
        )
    }

    private var source: StoreLink { isShared ? .user : link }

    open var memoryCapacity: Int {
        get { values.withLock { $0.memoryCapacity } }
        set {
            values.withLock { values in
                values.memoryCapacity = max(0, newValue)
                values.trim()
            }
        }
    }
    open var diskCapacity: Int {
        get { values.withLock { $0.diskCapacity } }
        set { values.withLock { $0.diskCapacity = max(0, newValue) } }
    }
    /// Bytes, as the daemon told last; at most a second old, except at the first call.
    open var currentMemoryUsage: Int { usage().memory }
    open var currentDiskUsage: Int { usage().disk }

    private func usage() -> (memory: Int, disk: Int) {
        let age = -values.withLock { $0.asked }.timeIntervalSinceNow
        if age > 1, !source.cores.isEmpty {
            let isFirst = values.withLock { values in
                defer { values.asked = Date() }
                return values.asked == .distantPast
            }
            if isFirst { waitBriefly { ask($0) } } else { ask {} }
        }
        return values.withLock { $0.usage }
    }

    private func ask(_ done: @escaping @Sendable () -> Void) {
        source.read(Methods.cacheInfo, { .init(storage: $0 ?? "shared") }) { [self] result in
            let storages = result?.storages ?? []
            values.withLock { values in
                values.usage.memory = storages.reduce(0) { $0 + Int($1.memoryUsage.rawValue) }
                values.usage.disk = storages.reduce(0) { $0 + Int($1.diskUsage.rawValue) }
            }
            done()
        }
    }

    private static func key(_ request: URLRequest) -> String { request.url?.absoluteString ?? "" }

    open func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        values.withLock { $0.responses[Self.key(request)]?.response }
    }
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        guard cachedResponse.storagePolicy != .notAllowed else { return }
        values.withLock { values in
            let size = cachedResponse.data.count
            guard size <= values.memoryCapacity / 20 else { return }
            values.responses[Self.key(request)] = (cachedResponse, Date())
            values.trim()
        }
    }
    open func removeCachedResponse(for request: URLRequest) {
        values.withLock { $0.responses[Self.key(request)] = nil }
        let url = request.url?.absoluteString
        source.change(Methods.removeCached) { .init(storage: $0 ?? "shared", url: url) }
    }
    open func removeAllCachedResponses() { removeCachedResponses(since: .distantPast) }
    open func removeCachedResponses(since date: Date) {
        values.withLock { values in values.responses = values.responses.filter { $0.value.time < date } }
        let since = date == .distantPast ? nil : Mapping.time(date)
        source.change(Methods.removeCached) { .init(storage: $0 ?? "shared", since: since) }
    }

    // MARK: For a task

    open func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @Sendable @escaping (CachedURLResponse?) -> Void
    ) {
        completionHandler(dataTask.currentRequest.flatMap { cachedResponse(for: $0) })
    }
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        if let request = dataTask.currentRequest { storeCachedResponse(cachedResponse, for: request) }
    }
    open func removeCachedResponse(for dataTask: URLSessionDataTask) {
        if let request = dataTask.currentRequest { removeCachedResponse(for: request) }
    }
}
