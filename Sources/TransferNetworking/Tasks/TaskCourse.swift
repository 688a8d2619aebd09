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
    private(set) var lastMessage: Operation?
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
    func changed(_ body: @escaping @Sendable (inout UpdateTask) -> Void) {
        core.queue.async { [self] in
            guard let id = remote else { return }
            var change = UpdateTask(id: id)
            body(&change)
            core.call(Methods.updateTask, change) { _ in }
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
        core.call(Methods.giveCredit, .init(id: id, bytes: Int64(bytes))) { _ in }
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
            let isOffline: Bool =
                switch notice.reason {
                case .network?, .retry?, .metered?, .power?, .portal?: true
                case .schedule?, .disk?, .authentication?, .decision?, nil: false
                }
            if isOffline {
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

// MARK: - Spec

// What a task asks the daemon for.
extension TaskCourse {
    /// - Throws: `URLError` for what cannot be sent.
    func spec() throws -> TaskSpec {
        guard let task, let request = task.currentRequest ?? task.originalRequest, let url = request.url else {
            throw URLError(.unsupportedURL)
        }
        var spec = TaskSpec()
        spec.kind = task is URLSessionDownloadTask ? .download : .data
        spec.url = url.absoluteString
        spec.method = request.httpMethod
        spec.headers = Mapping.headers(of: request)
        spec.acceptsAnyStatus = true
        spec.priority = TaskPriority(Double(task.priority))
        spec.description = task.taskDescription
        spec.startPaused = task.state == .suspended ? true : nil
        spec.earliestBeginAt = task.earliestBeginDate.map(Mapping.time)
        // The session's value holds unless the request has one of its own: 60 s is what every request has.
        if request.timeoutInterval != 60, request.timeoutInterval != 0 {
            spec.timeoutIntervalForRequest = Mapping.seconds(request.timeoutInterval)
        }
        if !request.httpShouldHandleCookies { spec.cookies = [] }
        // The session's value holds unless the request forbids more.
        if !request.allowsCellularAccess { spec.allowsCellularAccess = false }
        if isStream { spec.stream = true }
        if core.isVolatile, spec.kind == .data { spec.requestCachePolicy = Mapping.policy(effectivePolicy) }
        if !core.isVolatile {
            spec.clientToken = "\(core.name):\(task.taskIdentifier)"
            spec.tags = ["\(Self.tag)\(task.taskIdentifier)"]
        }
        if spec.kind == .download {
            // A repeated task is the same task: its token says so.
            guard let path = destination ?? DownloadFolder.place(in: core) else { throw URLError(.cannotCreateFile) }
            destination = path
            spec.destination = Destination(path: path)
            spec.conflictPolicy = .overwrite
        }
        try setBody(of: request, in: &spec)
        return spec
    }

    static let tag = "urlsession-task:"

    private func setBody(of request: URLRequest, in spec: inout TaskSpec) throws {
        switch payload {
        case .resume(let data):
            guard let unpacked = ResumeData.unpack(data) else { throw URLError(.cannotDecodeRawData) }
            if let blob = unpacked.blob {
                // The blob has the request.
                spec.resumeData = blob
                (spec.url, spec.method, spec.headers) = (nil, nil, nil)
            } else if let file = unpacked.file {
                spec.body = Self.body(inFile: file)
            }
        case .file(let file): spec.body = Self.body(inFile: file.path)
        case .data(let data): spec.body = try body(of: data)
        case .stream: spec.body = copiedBody.map(Self.body(inFile:))
        case .nothing:
            if let data = request.httpBody, !data.isEmpty {
                spec.body = try body(of: data)
            } else if let copiedBody {
                spec.body = Self.body(inFile: copiedBody)
            }
        }
        guard spec.body != nil else { return }
        task?.values.withLock { values in
            if values.expectedToSend < 0, let path = spec.body?.file {
                values.expectedToSend = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64) ?? -1
            }
        }
        let isForm = (request.httpMethod ?? "").uppercased() == "POST" && payload.isOfRequest
        if isForm, request.value(forHTTPHeaderField: "Content-Type") == nil {
            spec.headers?.append(HeaderField("Content-Type", "application/x-www-form-urlencoded"))
        }
    }

    private func body(of data: Data) throws -> RequestBody {
        guard data.count > BodyFile.longestMessage else { return Mapping.body(data) }
        let path = try BodyFile.make(of: data)
        copiedBody = path
        return Self.body(inFile: path)
    }

    private static func body(inFile path: String) -> RequestBody {
        var body = RequestBody()
        body.file = path
        return body
    }
}

extension TaskPayload {
    fileprivate var isOfRequest: Bool { if case .nothing = self { true } else { false } }
}

/// Where the daemon puts downloads until a delegate takes them.
enum DownloadFolder {
    /// A new path: below the temporary folder, or, for a background session, where it outlives this process and a reboot.
    static func place(in core: SessionCore) -> String? {
        guard let folder = core.isVolatile ? BodyFile.folder : lasting(core.name) else { return nil }
        return "\(folder)/CFNetworkDownload_\(UUID().uuidString).tmp"
    }

    static func lasting(_ session: String) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let data = environment["XDG_DATA_HOME"] ?? environment["HOME"].map { $0 + "/.local/share" }
        let name = session.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        guard let data, data.hasPrefix("/") else { return nil }
        let folder = "\(data)/TransferNetworking/\(name.prefix(200))"
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder
    }
}

// MARK: - Ends

// How tasks end.
extension TaskCourse {
    /// The daemon has everything.
    func completed(_ notice: Notice) {
        guard let task, let id = remote else { return }
        if let file = notice.file, task is URLSessionDownloadTask {
            destination = file
            task.values.withLock { $0.received = notice.bytesReceived ?? $0.received }
            task.progress.completedUnitCount = task.countOfBytesReceived
            wrote(task.countOfBytesReceived, of: task.countOfBytesReceived)
        }
        if let toSend = Optional(task[\.expectedToSend]), toSend > 0 { sent(toSend, of: toSend) }
        guard task is URLSessionDataTask, !isStreamed else { return end(nil) }
        fetchBody(of: id, from: 0)
    }

    /// Reads the body that the daemon has kept.
    private func fetchBody(of id: TaskID, from offset: Int64) {
        core.call(Methods.readBody, .init(id: id, offset: offset)) { [self] result in
            switch result {
            case .success(let piece):
                let data = Data(base64Encoded: piece.data) ?? Data()
                received(data)
                piece.eof || data.isEmpty ? end(nil) : fetchBody(of: id, from: offset + Int64(data.count))
            // The event comes again when the daemon is back.
            case .failure(let error) where core.outlives(error): break
            case .failure(let error): end(Mapping.error(error, task?.currentRequest?.url))
            }
        }
    }

    func failed(_ error: TransferError) {
        let mapped = Mapping.error(error, task?.currentRequest?.url)
        guard task is URLSessionDownloadTask, sink == nil, error.resumable == true, let id = remote else {
            return end(mapped)
        }
        core.call(Methods.takeResumeData, .init(id: id)) { [self] result in
            end(
                mapped,
                resumeData: (try? result.get()).flatMap { ResumeData.pack($0.resumeData, task?.originalRequest) })
        }
    }

    /// Ends here and in the daemon.
    func fail(_ error: URLError) {
        if let id = remote { cancel(id, with: error) } else { end(error) }
    }

    /// The task is over. The last messages follow once the metrics are there.
    func end(_ error: (any Error)?, resumeData: Data? = nil) {
        guard let task, !isOver else { return }
        let id = remote
        stage = .over
        let resumeData = resumeData ?? (resumeDataWanted.isEmpty ? nil : repetition(of: task))
        for wanted in resumeDataWanted { message { wanted(resumeData) } }
        resumeDataWanted = []
        try? sink?.close()
        sink = nil
        let error = error.map { ($0 as? URLError).map { described($0, resumeData) } ?? $0 }
        endedID = id
        guard let id, delegate != nil else {
            if let id, resumeData == nil { core.drop(id) }
            return finish(error, URLSessionTaskMetrics(nil, task))
        }
        core.call(Methods.getTask, .init(id: id)) { [self] result in
            // Removing the task would remove the bytes that resume data stand for.
            if resumeData == nil { core.drop(id) }
            finish(error, URLSessionTaskMetrics(try? result.get(), task))
        }
    }

    /// The error as it is told: with the URL, and with resume data if there are any.
    private func described(_ error: URLError, _ resumeData: Data?) -> URLError {
        var info = error.userInfo
        if info[NSLocalizedDescriptionKey] == nil { info[NSLocalizedDescriptionKey] = Mapping.words(for: error.code) }
        if let url = task?.currentRequest?.url ?? task?.originalRequest?.url {
            info[NSURLErrorFailingURLErrorKey] = url
            info["NSErrorFailingURLStringKey"] = url.absoluteString
        }
        if let resumeData { info[NSURLSessionDownloadTaskResumeData] = resumeData }
        return URLError(error.code, userInfo: info)
    }

    /// Resume data of an upload: the request, and the file that has its body.
    private func repetition(of task: URLSessionTask) -> Data? {
        guard task is URLSessionUploadTask, case .file(let file) = payload else { return nil }
        return ResumeData.pack(upload: file, task.originalRequest)
    }

    /// The cookies that came with the answers are to be there when the program is told.
    private func finish(_ error: (any Error)?, _ metrics: URLSessionTaskMetrics) {
        guard let task else { return }
        let response = task.response as? HTTPURLResponse
        if let storage = core.configuration.httpCookieStorage, endedID != nil, core.isVolatile,
            hasRedirected || response?.value(forHTTPHeaderField: "Set-Cookie") != nil
        {
            storage.refresh { [self] in core.queue.async { self.tell(task, error, metrics) } }
        } else {
            tell(task, error, metrics)
        }
    }

    private func tell(_ task: URLSessionTask, _ error: (any Error)?, _ metrics: URLSessionTaskMetrics) {
        task.values.withLock { values in
            values.error = error
            values.hasEnded = true
            if values.expectedToReceive < 0 { values.expectedToReceive = values.received }
        }
        let file = error == nil ? destination.map { URL(fileURLWithPath: $0) } : nil
        let (session, delegate, downloads) = (core.session, Unchecked(delegate), Unchecked(downloadDelegate))
        let (completion, response, body) = (completion, task.response, body)
        // A background session whose delegate takes no files leaves them for one that does.
        let isTaken = core.isVolatile || file == nil || downloads.value != nil
        message { [self] in
            if case .delegate = completion, let download = task as? URLSessionDownloadTask, let file, let session,
                core.isVolatile || FileManager.default.fileExists(atPath: file.path)
            {
                downloads.value?.urlSession(session, downloadTask: download, didFinishDownloadingTo: file)
            }
            if let session { delegate.value?.urlSession(session, task: task, didFinishCollecting: metrics) }
            switch completion {
            case .delegate:
                if let session { delegate.value?.urlSession(session, task: task, didCompleteWithError: error) }
            case .data(let handler): handler(error == nil ? body : nil, response, error)
            case .file(let handler): handler(file, response, error)
            case .bytes(let feed): feed.ended(error)
            }
            if isTaken, let destination = self.destination { unlink(destination) }
            if let copy = copiedBody { unlink(copy) }
            core.queue.async { [self] in
                core.delivered(endedID, finalEvent, isTaken: isTaken)
                core.ended(task)
            }
        }
        self.body = Data()
    }
}
