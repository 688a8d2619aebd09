import Threading

/// One transfer of a session. It does nothing before `resume()`.
open class URLSessionTask: NSObject, NSCopying, @unchecked Sendable {
    public enum State: Int, Sendable {
        case running, suspended, canceling, completed
    }

    public static let defaultPriority: Float = 0.5
    public static let lowPriority: Float = 0.25
    public static let highPriority: Float = 0.75

    struct Values: Sendable {
        var originalRequest: URLRequest?
        var currentRequest: URLRequest?
        var response: URLResponse?
        var error: (any Error)?
        var delegate: (any URLSessionTaskDelegate)?
        /// Until the task has ended.
        var session: URLSession?
        var description: String?
        var priority = URLSessionTask.defaultPriority
        var earliestBeginDate: Date?
        var prefersIncrementalDelivery = true
        /// How often `suspend()` outweighs `resume()`.
        var suspensions = 1
        var isPausedInDaemon = false
        var isCancelled = false
        var hasEnded = false
        var received: Int64 = 0
        var sent: Int64 = 0
        var expectedToReceive = NSURLSessionTransferSizeUnknown
        var expectedToSend = NSURLSessionTransferSizeUnknown
        var clientExpectsToSend = NSURLSessionTransferSizeUnknown
        var clientExpectsToReceive = NSURLSessionTransferSizeUnknown

        var state: State {
            if hasEnded { return .completed }
            if isCancelled { return .canceling }
            return suspensions == 0 ? .running : .suspended
        }
    }

    /// Unique in its session.
    public let taskIdentifier: Int
    /// Of sends and receptions together; cancelling and pausing it do the same to the task.
    public let progress: Progress
    let values: Guarded<Values>
    /// Belongs to the session's queue.
    let course: TaskCourse

    init(
        _ session: URLSession, _ identifier: Int, _ request: URLRequest?, _ payload: TaskPayload,
        _ completion: TaskCompletion, _ delegate: (any URLSessionTaskDelegate)?
    ) {
        taskIdentifier = identifier
        progress = Progress(parent: nil)
        progress.totalUnitCount = -1
        var values = Values(
            originalRequest: request, currentRequest: request, delegate: delegate, session: session)
        switch payload {
        case .data(let data): values.expectedToSend = Int64(data.count)
        case .nothing where request?.httpBodyStream == nil:
            values.expectedToSend = Int64(request?.httpBody?.count ?? 0)
        case .nothing, .file, .stream, .resume: break
        }
        self.values = Guarded(values)
        course = TaskCourse(session.core, payload, completion)
        super.init()
        course.task = self
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        progress.pausingHandler = { [weak self] in self?.suspend() }
        progress.resumingHandler = { [weak self] in self?.resume() }
    }

    /// The task itself.
    public func copy(with zone: NSZone?) -> Any { self }
    open override func copy() -> Any { self }

    open var originalRequest: URLRequest? { self[\.originalRequest] }
    /// After redirects.
    open var currentRequest: URLRequest? { self[\.currentRequest] }
    open var response: URLResponse? { self[\.response] }
    open var error: (any Error)? { self[\.error] }
    open var state: State { values.withLock { $0.state } }
    /// Asked before the session's delegate; must be set before the task is resumed.
    open var delegate: (any URLSessionTaskDelegate)? {
        get { self[\.delegate] }
        set { self[\.delegate] = newValue }
    }
    /// Stored with a background task.
    open var taskDescription: String? {
        get { self[\.description] }
        set {
            self[\.description] = newValue
            course.changed { $0.description = newValue ?? "" }
        }
    }
    /// From 0 to 1.
    open var priority: Float {
        get { self[\.priority] }
        set {
            let priority = newValue.isFinite ? min(max(newValue, 0), 1) : Self.defaultPriority
            self[\.priority] = priority
            course.changed { $0.priority = .init(Double(priority)) }
        }
    }
    /// Must be set before the task is resumed.
    open var earliestBeginDate: Date? {
        get { self[\.earliestBeginDate] }
        set { self[\.earliestBeginDate] = newValue }
    }
    /// Kept, without effect: data come as they arrive.
    open var prefersIncrementalDelivery: Bool {
        get { self[\.prefersIncrementalDelivery] }
        set { self[\.prefersIncrementalDelivery] = newValue }
    }
    open var countOfBytesReceived: Int64 { self[\.received] }
    open var countOfBytesSent: Int64 { self[\.sent] }
    open var countOfBytesExpectedToReceive: Int64 { self[\.expectedToReceive] }
    open var countOfBytesExpectedToSend: Int64 { self[\.expectedToSend] }
    /// Kept, without effect.
    open var countOfBytesClientExpectsToSend: Int64 {
        get { self[\.clientExpectsToSend] }
        set { self[\.clientExpectsToSend] = newValue }
    }
    /// Kept, without effect.
    open var countOfBytesClientExpectsToReceive: Int64 {
        get { self[\.clientExpectsToReceive] }
        set { self[\.clientExpectsToReceive] = newValue }
    }

    /// Whether the daemon has been told of `suspend()`.
    package var isPausedInDaemon: Bool { self[\.isPausedInDaemon] }

    open func resume() {
        values.withLock { $0.suspensions = max(0, $0.suspensions - 1) }
        course.suspensionChanged(of: self)
    }

    /// The task keeps what it has. Every `suspend()` needs a `resume()`.
    open func suspend() {
        values.withLock { $0.suspensions += 1 }
        course.suspensionChanged(of: self)
    }

    /// Ends the task with `URLError.cancelled`.
    open func cancel() { cancel(nil) }

    func cancel(_ resumeData: (@Sendable (Data?) -> Void)?) {
        values.withLock { $0.isCancelled = true }
        course.cancel(self, producing: resumeData)
    }

    subscript<Value>(_ path: WritableKeyPath<Values, Value>) -> Value {
        get { values.withLock { $0[keyPath: path] } }
        set { values.withLock { $0[keyPath: path] = newValue } }
    }
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {
    /// - Parameter completionHandler: gets what `uploadTask(withResumeData:)` needs to send the body again; nil for a task
    ///   that has ended.
    open func cancel(byProducingResumeData completionHandler: @Sendable @escaping (Data?) -> Void) {
        cancel(completionHandler)
    }
    open func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { done in cancel { done.resume(returning: $0) } }
    }
}

open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    /// - Parameter completionHandler: gets what `downloadTask(withResumeData:)` continues from; nil if there is nothing.
    open func cancel(byProducingResumeData completionHandler: @Sendable @escaping (Data?) -> Void) {
        cancel(completionHandler)
    }
    open func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { done in cancel { done.resume(returning: $0) } }
    }
}
