import Threading
import TransferModel
import TransferRPC

/// How one task goes, from its first `resume()` to its end. Belongs to its session's queue.
final class TaskCourse: @unchecked Sendable {
    enum Stage {
        case idle
        /// On its way to the daemon.
        case submitted
        case added(TaskID)
        case inProcess(ProtocolLoading)
        case over
    }

    /// What comes from the daemon, in its order.
    enum Incoming: Sendable {
        case notice(Notice)
        case data(Data)
    }

    let core: SessionCore
    /// When the task was made.
    let began = Date()
    let payload: TaskPayload
    let completion: TaskCompletion
    weak var task: URLSessionTask?
    var stage = Stage.idle
    /// A delegate decides something; what came since waits.
    var isHeld = false
    /// A delegate is asked about the response.
    var isAsking = false
    private var held: [Incoming] = []
    /// A redirect or a challenge, unless it turns out to be the task's response.
    var provisional: ResponseInfo?
    /// A body for a handler, or what a delegate has been given of one that may be stored.
    var body = Data()
    /// What a stream of a data task is written to that has become a download.
    var sink: FileHandle?
    /// Where the daemon, or `sink`, puts the file.
    var destination: String?
    /// A copy of what the task sends; removed at the end.
    var copiedBody: String?
    /// The number of the event that ends a background task.
    var finalEvent: Int64?
    /// The daemon's number of a task that is over.
    var endedID: TaskID?
    var resumeDataWanted: [@Sendable (Data?) -> Void] = []
    var isPausing = false
    var pausedThere = false { didSet { task?[\.isPausedInDaemon] = pausedThere } }
    private var owedCredit = 0
    private(set) var hasCredit = false
    var isTakingResumeData = false
    /// The error of a task that is cancelled in the daemon: its event may come before the call's result.
    var endsAs = URLError(.cancelled)
    var redirects = 0
    var hasRedirected: Bool { redirects > 0 }
    private var lastMessage: Operation?
    /// Bytes that have been told to the delegate.
    var toldSent: Int64 = 0
    var toldWritten: Int64 = 0

    /// Bytes of a body that may be on the way from the daemon to a reader.
    static let window = 512 << 10
    /// Foundation gives up at the 17th.
    private static let mostRedirects = 16

    init(_ core: SessionCore, _ payload: TaskPayload, _ completion: TaskCompletion) {
        self.core = core
        self.payload = payload
        self.completion = completion
    }

    var remote: TaskID? { if case .added(let id) = stage { id } else { nil } }
    var isOver: Bool { if case .over = stage { true } else { false } }

    /// The body comes in pieces from the daemon.
    var isStreamed: Bool { sink != nil || isStream }

    /// A data task whose body comes as it arrives. The daemon keeps the bodies of background tasks.
    var isStream: Bool { task is URLSessionDataTask && core.isVolatile }

    var effectivePolicy: URLRequest.CachePolicy {
        let own = task?.originalRequest?.cachePolicy ?? .useProtocolCachePolicy
        return own == .useProtocolCachePolicy ? core.configuration.requestCachePolicy : own
    }

    // MARK: What the program says; on any thread

    func suspensionChanged(of task: URLSessionTask) {
        core.queue.async { [self] in
            switch stage {
            case .idle: if task.state == .running { begin() }
            case .added: settlePause()
            case .inProcess(let loading): if task.state == .running { loading.start() }
            case .submitted, .over: break
            }
        }
    }

    func cancel(_ task: URLSessionTask, producing resumeData: (@Sendable (Data?) -> Void)?) {
        core.queue.async { [self] in
            guard !isOver, task.state != .completed else {
                resumeData?(nil)
                return
            }
            if let resumeData { resumeDataWanted.append(resumeData) }
            switch stage {
            case .idle, .submitted, .over: end(URLError(.cancelled))
            case .inProcess(let loading):
                loading.stop()
                end(URLError(.cancelled))
            case .added(let id): cancel(id, with: nil)
            }
        }
    }

    /// The daemon is to know a changed description or priority.
    func changed(_ body: @escaping @Sendable (inout UpdateTask.Parameters) -> Void) {
        core.queue.async { [self] in
            guard let id = remote else { return }
            var change = UpdateTask.Parameters(id: id)
            body(&change)
            core.call(UpdateTask.self, change) { _ in }
        }
    }

    /// A reader has taken bytes of the body.
    func consumed(_ count: Int) {
        core.queue.async { [self] in
            owedCredit += count
            guard let id = remote, isStreamed, owedCredit >= Self.window / 2 else { return }
            giveCredit(owedCredit, to: id)
            owedCredit = 0
        }
    }

    func giveCredit(_ bytes: Int, to id: TaskID) {
        hasCredit = true
        core.call(GiveCredit.self, .init(id: id, bytes: Int64(bytes))) { _ in }
    }

    // MARK: What the daemon says

    func received(_ incoming: Incoming) {
        if isHeld { held.append(incoming) } else { handle(incoming) }
    }

    /// Goes on with what came while a delegate decided.
    func release() {
        isHeld = false
        while !isHeld, !held.isEmpty { handle(held.removeFirst()) }
    }

    /// Gives what came while a delegate decided to another course.
    func takeHeld() -> [Incoming] {
        defer { held = [] }
        return held
    }

    private func handle(_ incoming: Incoming) {
        if let provisional, incoming.showsThatTheResponseIsFinal {
            self.provisional = nil
            held.insert(incoming, at: 0)
            received(provisional)
            return isHeld ? () : release()
        }
        if incoming.showsThatTheResponseIsFinal, waitsForResponse(incoming) { return }
        switch incoming {
        case .notice(let notice): handle(notice)
        case .data(let data): received(data)
        }
    }

    /// A body without a header, as of FTP, has a response too.
    /// - Returns: whether a delegate decides about it first.
    private func waitsForResponse(_ incoming: Incoming) -> Bool {
        guard let task, !isOver, !task[\.isCancelled], task.response == nil, let url = task.currentRequest?.url else {
            return false
        }
        accepted(URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil))
        if isHeld { held.insert(incoming, at: 0) }
        return isHeld
    }

    /// Messages come after those of the course that it continues.
    func follow(_ earlier: TaskCourse) { lastMessage = earlier.lastMessage }

    private func handle(_ notice: Notice) {
        guard let task, !isOver else { return }
        let isCancelled = task[\.isCancelled]
        switch notice.type {
        case .taskCompleted: isCancelled ? end(URLError(.cancelled)) : completed(notice)
        case .taskFailed:
            guard let error = notice.error, !isCancelled else { return end(URLError(.cancelled)) }
            failed(error)
        case .taskCancelled: if !isTakingResumeData { end(endsAs) }
        case _ where isCancelled: break
        case .taskResponse:
            guard let response = notice.response else { return }
            provisional = nil
            guard response.mayBeFollowedByAnother else { return received(response) }
            provisional = response
            // Only the body of a final response is sent.
            if let id = remote, isStreamed, asksAboutResponses { giveCredit(Self.window, to: id) }
        case .taskRedirected:
            provisional = nil
            redirected(notice.url)
        case .taskResumed: resumed(at: notice.offset ?? 0, of: notice.expected ?? -1)
        case .taskProgress: progressed(notice)
        case .taskWaiting:
            if notice.reason == .network || notice.reason == .retry {
                message(to: delegate) { $0.urlSession($1, taskIsWaitingForConnectivity: task) }
            }
        case .taskDecision:
            provisional = nil
            if let id = notice.decision, let question = notice.question { asked(id, question) }
        default: break
        }
    }

    /// - Returns: false if there are too many, which ends the task.
    func countsRedirect() -> Bool {
        redirects += 1
        guard redirects > Self.mostRedirects, let id = remote else { return true }
        cancel(id, with: URLError(.httpTooManyRedirects))
        return false
    }

    private func redirected(_ url: String?) {
        guard countsRedirect() else { return }
        if let url = url.flatMap({ URL(string: $0) }) { task?.values.withLock { $0.currentRequest?.url = url } }
    }

    // MARK: Messages

    /// Runs on the delegate's queue, after the earlier messages of this task.
    func message(_ body: @escaping @Sendable () -> Void) {
        let operation = BlockOperation(block: body)
        if core.delegateQueue.maxConcurrentOperationCount != 1, let lastMessage, !lastMessage.isFinished {
            operation.addDependency(lastMessage)
        }
        lastMessage = operation
        core.delegateQueue.addOperation(operation)
    }

    /// - Parameter otherwise: if there is no delegate; on this queue.
    func message<Delegate>(
        to delegate: Delegate?, _ body: @escaping @Sendable (Delegate, URLSession) -> Void,
        otherwise: () -> Void = {}
    ) {
        guard let delegate, let session = core.session else { return otherwise() }
        let box = Unchecked(delegate)
        message { body(box.value, session) }
    }

    var delegate: (any URLSessionTaskDelegate)? {
        task?.delegate ?? core.session?.delegate as? any URLSessionTaskDelegate
    }
    var dataDelegate: (any URLSessionDataDelegate)? {
        task?.delegate as? any URLSessionDataDelegate ?? core.session?.delegate as? any URLSessionDataDelegate
    }
    var downloadDelegate: (any URLSessionDownloadDelegate)? {
        task?.delegate as? any URLSessionDownloadDelegate ?? core.session?.delegate as? any URLSessionDownloadDelegate
    }
}

extension TaskCourse.Incoming {
    fileprivate var showsThatTheResponseIsFinal: Bool {
        switch self {
        case .data: true
        case .notice(let notice): notice.type == .taskCompleted
        }
    }
}

extension ResponseInfo {
    /// A redirect or a challenge: another request may follow without a question.
    fileprivate var mayBeFollowedByAnother: Bool {
        switch status {
        case 401, 407: true
        case 301, 302, 303, 305, 306, 307, 308: headers.contains { $0.name.lowercased() == "location" }
        default: false
        }
    }
}

extension URLSessionTask.State {
    var isFinal: Bool { self == .canceling || self == .completed }
}

/// Passes a value on that its type does not let pass, to one thread at a time.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}

/// Takes the first answer of a completion handler; further ones are ignored.
final class Once<Value>: @unchecked Sendable {
    private let isTaken = Guarded((false))
    func take(_ value: Value, _ body: (Value) -> Void) {
        let isFirst = isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
        if isFirst { body(value) }
    }
}
