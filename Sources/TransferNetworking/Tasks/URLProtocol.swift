import Threading

/// Takes what a `URLProtocol` loads.
public protocol URLProtocolClient: NSObjectProtocol {
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)
    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy)
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}

/// Serves requests in this process; subclass it. Background sessions have helper programs instead.
open class URLProtocol: NSObject, @unchecked Sendable {
    private struct Registered: @unchecked Sendable {
        var classes: [AnyClass] = []
    }
    private static let registered = Guarded(Registered())

    public private(set) var request: URLRequest
    public private(set) var cachedResponse: CachedURLResponse?
    public private(set) var client: (any URLProtocolClient)?
    public private(set) var task: URLSessionTask?

    public required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
        self.request = request
        self.cachedResponse = cachedResponse
        self.client = client
    }

    public required init(task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
        self.task = task
        request = task.currentRequest ?? task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
        self.cachedResponse = cachedResponse
        self.client = client
    }

    open class func canInit(with request: URLRequest) -> Bool { false }
    open class func canInit(with task: URLSessionTask) -> Bool {
        task.currentRequest.map { canInit(with: $0) } ?? false
    }
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { a == b }
    /// Runs on a thread of the session; it must not wait.
    open func startLoading() {}
    open func stopLoading() {}

    /// The classes that were registered last are asked first.
    open class func registerClass(_ protocolClass: AnyClass) -> Bool {
        guard protocolClass is URLProtocol.Type else { return false }
        registered.withLock { $0.classes.insert(protocolClass, at: 0) }
        return true
    }
    open class func unregisterClass(_ protocolClass: AnyClass) {
        registered.withLock { registered in
            if let index = registered.classes.firstIndex(where: { $0 == protocolClass }) {
                registered.classes.remove(at: index)
            }
        }
    }
    static var classes: [AnyClass] { registered.withLock { $0.classes } }

    // MARK: Properties of requests

    /// A header field that never reaches the wire carries them: it survives the bridge between `URLRequest` and
    /// `NSURLRequest`, which FoundationNetworking's properties do not.
    static let propertyField = "X-TransferNetworking-Properties"
    private struct Properties: @unchecked Sendable {
        var values: [String: [String: Any]] = [:]
        var order: [String] = []
    }
    private static let properties = Guarded(Properties())

    open class func property(forKey key: String, in request: URLRequest) -> Any? {
        guard let id = request.value(forHTTPHeaderField: propertyField) else { return nil }
        return properties.withLock { $0.values[id]?[key] }
    }
    open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {
        change(request) { $0[key] = value }
    }
    open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {
        change(request) { $0[key] = nil }
    }

    /// The most requests whose properties are kept.
    private static let mostProperties = 10_000

    /// A changed request has properties of its own: copies keep theirs.
    private class func change(_ request: NSMutableURLRequest, _ body: (inout [String: Any]) -> Void) {
        let new = UUID().uuidString
        let old = request.value(forHTTPHeaderField: propertyField)
        properties.withLock { properties in
            var values = old.flatMap { properties.values[$0] } ?? [:]
            body(&values)
            properties.values[new] = values
            properties.order.append(new)
            if properties.order.count > mostProperties { properties.values[properties.order.removeFirst()] = nil }
        }
        request.setValue(new, forHTTPHeaderField: propertyField)
    }
}

/// A task that a `URLProtocol` serves.
final class ProtocolLoading: NSObject, URLProtocolClient, @unchecked Sendable {
    private let handler: URLProtocol.Type
    private var loader: URLProtocol?
    private var course: TaskCourse
    private let cache: URLCache?
    private let credentials: URLCredentialStorage?
    /// What came while the delegate decided about the response.
    private var waiting: [@Sendable (ProtocolLoading) -> Void] = []
    private var isWaiting = false
    private var isStopped = false

    /// nil if no class serves the task.
    init?(_ task: URLSessionTask, _ configuration: URLSessionConfiguration) {
        guard task.course.core.isVolatile else { return nil }
        let own = (URLProtocol.classes + (configuration.protocolClasses ?? [])).compactMap { $0 as? URLProtocol.Type }
        let classes = own + [DataURLProtocol.self]
        guard let handler = classes.first(where: { $0.canInit(with: task) }) else { return nil }
        self.handler = handler
        course = task.course
        cache = configuration.urlCache
        credentials = configuration.urlCredentialStorage
    }

    func start() {
        guard loader == nil, !isStopped, let task = course.task else { return }
        if let request = task.currentRequest {
            let canonical = handler.canonicalRequest(for: request)
            task.values.withLock { $0.currentRequest = canonical }
        }
        let cached = task.currentRequest.flatMap { cache?.cachedResponse(for: $0) }
        let loader = handler.init(task: task, cachedResponse: cached, client: self)
        self.loader = loader
        loader.startLoading()
    }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        loader?.stopLoading()
        loader = nil
    }

    func goOn() {
        isWaiting = false
        while !isWaiting, !waiting.isEmpty { waiting.removeFirst()(self) }
    }

    func continues(as course: TaskCourse) {
        self.course = course
        goOn()
    }

    private func next(_ body: @escaping @Sendable (ProtocolLoading) -> Void) {
        course.core.queue.async { [self] in
            guard !isStopped else { return }
            if isWaiting { waiting.append(body) } else { body(self) }
        }
    }

    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        next { loading in
            guard let response = redirectResponse as? HTTPURLResponse else { return }
            loading.stop()
            let course = loading.course
            course.asksToRedirect(response, request) { request in
                guard !course.isOver, let task = course.task else { return }
                guard let request else {
                    course.accepted(response)
                    return course.end(nil)
                }
                task.values.withLock { $0.currentRequest = request }
                course.restart()
            }
        }
    }
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        urlProtocol(`protocol`, didReceive: cachedResponse.response, cacheStoragePolicy: .notAllowed)
        urlProtocol(`protocol`, didLoad: cachedResponse.data)
        urlProtocolDidFinishLoading(`protocol`)
    }
    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        next { loading in
            loading.isWaiting = loading.course.asksAboutResponses
            loading.course.accepted(response)
        }
    }
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) { next { $0.course.received(data) } }
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) {
        next { loading in
            loading.stop()
            let hasResponse = loading.course.task?.response != nil
            loading.course.end(hasResponse ? nil : URLError(.badServerResponse))
        }
    }
    /// As at Foundation's, the error is passed on as it is, and there is no response.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        next { loading in
            loading.stop()
            loading.course.task?[\.response] = nil
            loading.course.end(error)
        }
    }
    /// The answer goes to the challenge's sender.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        next { loading in
            loading.course.decide(challenge) { disposition, credential in
                switch disposition {
                case .useCredential:
                    if let credential {
                        challenge.sender?.use(credential, for: challenge)
                    } else {
                        challenge.sender?.continueWithoutCredential(for: challenge)
                    }
                case .performDefaultHandling:
                    if let known = loading.credentials?.defaultCredential(for: challenge.protectionSpace),
                        challenge.previousFailureCount == 0
                    {
                        challenge.sender?.use(known, for: challenge)
                    } else {
                        challenge.sender?.continueWithoutCredential(for: challenge)
                    }
                case .cancelAuthenticationChallenge:
                    challenge.sender?.cancel(challenge)
                    loading.course.task?.cancel()
                case .rejectProtectionSpace: challenge.sender?.rejectProtectionSpaceAndContinue(with: challenge)
                }
            }
        }
    }
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        next { $0.course.task?.cancel() }
    }
}
