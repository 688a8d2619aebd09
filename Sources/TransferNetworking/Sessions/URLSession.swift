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
