import Threading
import TransferModel

/// A group of transfers with one configuration and one delegate, which run in dld.
///
/// Its methods return at once. Handlers and delegate methods run on `delegateQueue`.
open class URLSession: NSObject, @unchecked Sendable {
    public enum ResponseDisposition: Int, Sendable {
        case cancel, allow, becomeDownload, becomeStream
    }
    public enum AuthChallengeDisposition: Int, Sendable {
        case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
    }
    public enum DelayedRequestDisposition: Int, Sendable {
        case continueLoading, useNewRequest, cancel
    }

    private struct Values: Sendable {
        var delegate: (any URLSessionDelegate)?
        var description: String?
    }

    open class var shared: URLSession { common }
    private static let common = URLSession(configuration: .default)

    private let own: URLSessionConfiguration
    public let delegateQueue: OperationQueue
    private let values: Guarded<Values>
    let core: SessionCore

    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// - Parameters:
    ///   - configuration: the session keeps a copy.
    ///   - delegate: kept until the session is invalidated.
    ///   - queue: where handlers and delegate methods run; nil: a serial queue of the session's own.
    public init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        own = configuration.copy() as? URLSessionConfiguration ?? configuration
        if let queue {
            delegateQueue = queue
        } else {
            delegateQueue = OperationQueue()
            delegateQueue.maxConcurrentOperationCount = 1
            delegateQueue.name = "URLSession"
        }
        values = Guarded(Values(delegate: delegate))
        core = SessionCore(own, delegateQueue)
        super.init()
        core.attach(to: self)
    }

    deinit { core.sessionIsGone() }

    /// A copy.
    open var configuration: URLSessionConfiguration { own.copy() as? URLSessionConfiguration ?? own }
    open var delegate: (any URLSessionDelegate)? { values.withLock { $0.delegate } }
    open var sessionDescription: String? {
        get { values.withLock { $0.description } }
        set { values.withLock { $0.description = newValue } }
    }
    func releaseDelegate() -> (any URLSessionDelegate)? {
        values.withLock { values in
            defer { values.delegate = nil }
            return values.delegate
        }
    }

    // MARK: The end

    /// Lets the tasks end, and then releases the delegate. `shared` ignores it.
    open func finishTasksAndInvalidate() {
        if self !== Self.common { core.invalidate(cancelling: false) }
    }

    /// Cancels the tasks, and then releases the delegate. `shared` ignores it.
    open func invalidateAndCancel() {
        if self !== Self.common { core.invalidate(cancelling: true) }
    }

    /// Empties the session's stores of cookies, answers and credentials.
    open func reset(completionHandler: @Sendable @escaping () -> Void) {
        own.urlCache?.removeAllCachedResponses()
        own.httpCookieStorage?.removeCookies(since: .distantPast)
        own.urlCredentialStorage?.removeAll()
        delegateQueue.addOperation(completionHandler)
    }

    /// Writes the session's stores to the disk; the daemon has done so already.
    open func flush(completionHandler: @Sendable @escaping () -> Void) { delegateQueue.addOperation(completionHandler) }
    open func reset() async { await withCheckedContinuation { done in reset { done.resume() } } }
    open func flush() async { await withCheckedContinuation { done in flush { done.resume() } } }

    // MARK: Its tasks

    open func getTasksWithCompletionHandler(
        _ completionHandler:
            @Sendable @escaping ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) -> Void
    ) {
        getAllTasks { tasks in
            let uploads = tasks.compactMap { $0 as? URLSessionUploadTask }
            let data = tasks.compactMap { $0 is URLSessionUploadTask ? nil : $0 as? URLSessionDataTask }
            completionHandler(data, uploads, tasks.compactMap { $0 as? URLSessionDownloadTask })
        }
    }

    /// Tasks that have not ended, also those that a process before this one left in a background session.
    open func getAllTasks(completionHandler: @Sendable @escaping ([URLSessionTask]) -> Void) {
        core.whenAttached { [core, delegateQueue] in
            let tasks = core.unfinishedTasks
            delegateQueue.addOperation { completionHandler(tasks) }
        }
    }

    open var allTasks: [URLSessionTask] {
        get async { await withCheckedContinuation { done in getAllTasks { done.resume(returning: $0) } } }
    }
    open var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            await withCheckedContinuation { done in
                getTasksWithCompletionHandler { done.resume(returning: ($0, $1, $2)) }
            }
        }
    }

    // MARK: Data

    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        make(URLSessionDataTask.init, request, .nothing, .delegate)
    }
    open func dataTask(with url: URL) -> URLSessionDataTask { dataTask(with: URLRequest(url: url)) }
    open func dataTask(
        with request: URLRequest, completionHandler: @Sendable @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        make(URLSessionDataTask.init, request, .nothing, .data(completionHandler))
    }
    open func dataTask(
        with url: URL, completionHandler: @Sendable @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    // MARK: Uploads

    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        make(URLSessionUploadTask.init, request, .file(fileURL), .delegate)
    }
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        make(URLSessionUploadTask.init, request, .data(bodyData), .delegate)
    }
    /// The delegate's `needNewBodyStream` gives the body. It is read to its end before the request is sent.
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        make(URLSessionUploadTask.init, request, .stream, .delegate)
    }
    open func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask {
        make(URLSessionUploadTask.init, ResumeData.request(of: resumeData), .resume(resumeData), .delegate)
    }
    open func uploadTask(
        with request: URLRequest, fromFile fileURL: URL,
        completionHandler: @Sendable @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        make(URLSessionUploadTask.init, request, .file(fileURL), .data(completionHandler))
    }
    open func uploadTask(
        with request: URLRequest, from bodyData: Data?,
        completionHandler: @Sendable @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        make(URLSessionUploadTask.init, request, .data(bodyData ?? Data()), .data(completionHandler))
    }
    open func uploadTask(
        withResumeData resumeData: Data,
        completionHandler: @Sendable @escaping (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        make(
            URLSessionUploadTask.init, ResumeData.request(of: resumeData), .resume(resumeData), .data(completionHandler)
        )
    }

    // MARK: Downloads

    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        make(URLSessionDownloadTask.init, request, .nothing, .delegate)
    }
    open func downloadTask(with url: URL) -> URLSessionDownloadTask { downloadTask(with: URLRequest(url: url)) }
    open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        make(URLSessionDownloadTask.init, ResumeData.request(of: resumeData), .resume(resumeData), .delegate)
    }
    /// The file is removed when the handler returns.
    open func downloadTask(
        with request: URLRequest, completionHandler: @Sendable @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        make(URLSessionDownloadTask.init, request, .nothing, .file(completionHandler))
    }
    open func downloadTask(
        with url: URL, completionHandler: @Sendable @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        downloadTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }
    open func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @Sendable @escaping (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        make(
            URLSessionDownloadTask.init, ResumeData.request(of: resumeData), .resume(resumeData),
            .file(completionHandler))
    }

    // MARK: Not offered

    @available(*, unavailable, message: "dld transfers files and messages; it has no stream tasks.")
    public final func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
        make(URLSessionStreamTask.init, nil, .nothing, .delegate)
    }
    @available(*, unavailable, message: "dld transfers files and messages; it has no web sockets.")
    public final func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        make(URLSessionWebSocketTask.init, nil, .nothing, .delegate)
    }
    @available(*, unavailable, message: "dld transfers files and messages; it has no web sockets.")
    public final func webSocketTask(with url: URL, protocols: [String] = []) -> URLSessionWebSocketTask {
        make(URLSessionWebSocketTask.init, nil, .nothing, .delegate)
    }

    package func rehearse(_ task: URLSessionTask, _ notifications: [(method: String, text: [UInt8])]) {
        core.rehearse(task, notifications)
    }

    func make<Kind: URLSessionTask>(
        _ kind: (URLSession, Int, URLRequest?, TaskPayload, TaskCompletion, (any URLSessionTaskDelegate)?) -> Kind,
        _ request: URLRequest?, _ payload: TaskPayload, _ completion: TaskCompletion,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) -> Kind {
        let task = kind(self, core.nextIdentifier(), request, payload, completion, delegate)
        core.register(task)
        return task
    }
}

/// What a task sends.
enum TaskPayload: Sendable {
    /// What the request has.
    case nothing
    case data(Data)
    case file(URL)
    /// What the delegate gives.
    case stream
    /// Resume data of an earlier task say it.
    case resume(Data)
}

/// Who gets a task's result.
enum TaskCompletion: Sendable {
    case delegate
    case data(@Sendable (Data?, URLResponse?, (any Error)?) -> Void)
    case file(@Sendable (URL?, URLResponse?, (any Error)?) -> Void)
    /// An asynchronous sequence.
    case bytes(AsyncBytesFeed)
}

// MARK: - Async

extension URLSession {
    /// Cancelling the Swift task cancels the transfer.
    public func data(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await result { make(URLSessionDataTask.init, request, .nothing, .data($0), delegate: delegate) }
    }
    public func data(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url), delegate: delegate)
    }
    public func upload(
        for request: URLRequest, fromFile fileURL: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await result { make(URLSessionUploadTask.init, request, .file(fileURL), .data($0), delegate: delegate) }
    }
    public func upload(
        for request: URLRequest, from bodyData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await result { make(URLSessionUploadTask.init, request, .data(bodyData), .data($0), delegate: delegate) }
    }
    /// The caller removes the file.
    public func download(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await result {
            make(URLSessionDownloadTask.init, request, .nothing, .file(Self.keeping($0)), delegate: delegate)
        }
    }
    public func download(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download(for: URLRequest(url: url), delegate: delegate)
    }
    public func download(
        resumeFrom resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await result {
            make(
                URLSessionDownloadTask.init, ResumeData.request(of: resumeData), .resume(resumeData),
                .file(Self.keeping($0)), delegate: delegate)
        }
    }

    /// The body as it arrives: no more than the reader takes.
    public func bytes(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        let feed = AsyncBytesFeed()
        let task = make(URLSessionDataTask.init, request, .nothing, .bytes(feed), delegate: delegate)
        let response = try await withTaskCancellationHandler {
            task.resume()
            return try await feed.response()
        } onCancel: {
            task.cancel()
        }
        return (AsyncBytes(task: task, feed: feed), response)
    }
    public func bytes(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url), delegate: delegate)
    }

    private typealias Handler<Value> = @Sendable (Value?, URLResponse?, (any Error)?) -> Void

    private func result<Value: Sendable>(
        _ make: (@escaping Handler<Value>) -> URLSessionTask
    ) async throws -> (Value, URLResponse) {
        let started = Guarded<(task: URLSessionTask?, isCancelled: Bool)>((nil, false))
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<(Value, URLResponse), any Error>) in
                let task = make { value, response, error in
                    if let value, let response, error == nil {
                        done.resume(returning: (value, response))
                    } else {
                        done.resume(throwing: error ?? URLError(.unknown))
                    }
                }
                let isCancelled = started.withLock { started in
                    started.task = task
                    return started.isCancelled
                }
                isCancelled ? task.cancel() : task.resume()
            }
        } onCancel: {
            started.withLock { started in
                started.isCancelled = true
                return started.task
            }?.cancel()
        }
    }

    /// Gives the handler a file that stays when it returns.
    private static func keeping(_ handler: @escaping Handler<URL>) -> Handler<URL> {
        { file, response, error in
            guard let file else { return handler(nil, response, error) }
            let kept = FileManager.default.temporaryDirectory.appendingPathComponent("kept-" + file.lastPathComponent)
            do {
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
                try FileManager.default.moveItem(at: file, to: kept)
                handler(kept, response, nil)
            } catch {
                handler(nil, response, URLError(.cannotMoveFile, userInfo: [NSUnderlyingErrorKey: error]))
            }
        }
    }

    /// The bytes of a body, one by one. The task is cancelled when nobody can read them any more.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8
        public let task: URLSessionDataTask
        let feed: AsyncBytesFeed
        private let readers: Readers

        private final class Readers: Sendable {
            private let task: URLSessionDataTask
            init(of task: URLSessionDataTask) { self.task = task }
            deinit { task.cancel() }
        }

        init(task: URLSessionDataTask, feed: AsyncBytesFeed) {
            self.task = task
            self.feed = feed
            readers = Readers(of: task)
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            let bytes: AsyncBytes
            private var piece = Data()
            private var place = 0

            init(_ bytes: AsyncBytes) { self.bytes = bytes }

            public mutating func next() async throws -> UInt8? {
                while place == piece.count {
                    guard let next = try await bytes.next() else { return nil }
                    (piece, place) = (next, 0)
                }
                defer { place += 1 }
                return piece[piece.startIndex + place]
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

        private func next() async throws -> Data? {
            try await withTaskCancellationHandler {
                let piece = try await feed.next()
                if let piece { task.course.consumed(piece.count) }
                return piece
            } onCancel: {
                task.cancel()
            }
        }
    }
}

/// Takes what a task receives to an asynchronous sequence. It holds no more than the task's credit.
final class AsyncBytesFeed: Sendable {
    private struct Values: Sendable {
        var response: URLResponse?
        var pieces: [Data] = []
        var end: Result<Void, any Error>?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let values = Guarded(Values())

    func received(_ response: URLResponse) { change { $0.response = response } }
    func received(_ data: Data) { change { $0.pieces.append(data) } }
    func ended(_ error: (any Error)?) { change { $0.end = $0.end ?? error.map { .failure($0) } ?? .success(()) } }

    func response() async throws -> URLResponse {
        while true {
            let (response, end) = values.withLock { ($0.response, $0.end) }
            if let response { return response }
            if let end {
                try end.get()
                throw URLError(.badServerResponse)
            }
            await change(until: { $0.response != nil || $0.end != nil })
        }
    }

    func next() async throws -> Data? {
        while true {
            let (piece, end) = values.withLock { values in
                (values.pieces.isEmpty ? nil : values.pieces.removeFirst(), values.end)
            }
            if let piece { return piece }
            if let end {
                try end.get()
                return nil
            }
            await change(until: { !$0.pieces.isEmpty || $0.end != nil })
        }
    }

    private func change(_ body: (inout Values) -> Void) {
        let waiting = values.withLock { values in
            body(&values)
            defer { values.waiting = [] }
            return values.waiting
        }
        for reader in waiting { reader.resume() }
    }

    /// Waits for a change, unless what is waited for is there.
    private func change(until isThere: (Values) -> Bool) async {
        await withCheckedContinuation { reader in
            let goesOn = values.withLock { values in
                if isThere(values) { return true }
                values.waiting.append(reader)
                return false
            }
            if goesOn { reader.resume() }
        }
    }
}
