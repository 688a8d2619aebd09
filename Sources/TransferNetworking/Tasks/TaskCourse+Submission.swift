import Threading
import TransferModel
import TransferRPC

// The way to the daemon, and its control there.
extension TaskCourse {
    func begin() {
        guard let task else { return }
        stage = .submitted
        core.begins(task)
        if let refusal = refusal(of: task) { return end(refusal) }
        if let loading = ProtocolLoading(task, core.configuration) {
            stage = .inProcess(loading)
            return loading.start()
        }
        guard case .stream = payload, copiedBody == nil else { return submit(task) }
        message(to: delegate) { delegate, session in
            let once = Once<InputStream?>()
            delegate.urlSession(session, task: task) { stream in
                let stream = Unchecked(stream)
                once.take(stream.value) { _ in self.core.queue.async { self.copy(stream.value, task) } }
            }
        } otherwise: { [self] in
            end(URLError(.cannotDecodeRawData))
        }
    }

    /// Makes the current request, after a redirect that a `URLProtocol` told of.
    func restart() {
        guard let task, !isOver else { return }
        stage = .submitted
        isHeld = false
        if let loading = ProtocolLoading(task, core.configuration) {
            stage = .inProcess(loading)
            return loading.start()
        }
        submit(task)
    }

    /// What background sessions refuse, and requests that cannot be sent.
    private func refusal(of task: URLSessionTask) -> URLError? {
        func refused(_ rule: String) -> URLError { URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: rule]) }
        if !core.isVolatile {
            if case .delegate = completion {
            } else {
                return refused("Tasks of background sessions have no completion handlers: use a delegate.")
            }
            switch payload {
            case .data: return refused("Background sessions upload files only, not data.")
            case .stream: return refused("Background sessions upload files only, not streams.")
            case .nothing, .file, .resume: break
            }
        }
        guard let request = task.originalRequest, let url = request.url, url.scheme != nil else {
            return URLError(.unsupportedURL)
        }
        let sends = (request.httpBody?.isEmpty == false) || request.httpBodyStream != nil
        if sends, (request.httpMethod ?? "GET").uppercased() == "GET" { return URLError(.dataLengthExceedsMaximum) }
        return nil
    }

    /// A stream is copied into a file: its length is known then, and it can be sent again.
    private func copy(_ stream: InputStream?, _ task: URLSessionTask) {
        guard let stream else { return end(URLError(.requestBodyStreamExhausted)) }
        let core = core
        let source = Unchecked(stream)
        DispatchQueue.global().async {
            let path = Result { try BodyFile.make(from: source.value) }
            core.queue.async { [self] in
                switch path {
                case .success(let path) where !isOver:
                    copiedBody = path
                    submit(task)
                case .success(let path): unlink(path)
                case .failure: end(URLError(.requestBodyStreamExhausted))
                }
            }
        }
    }

    private func submit(_ task: URLSessionTask) {
        if copiedBody == nil, let stream = task.originalRequest?.httpBodyStream { return copy(stream, task) }
        if !isOver { core.submit(task) }
    }

    /// The daemon has the task.
    func added(_ id: TaskID, paused: Bool) {
        guard let task, !isOver else {
            // It was cancelled while it was being added.
            return core.call(Methods.cancelTasks, .init(ControlSelection(ids: [id]))) { [core] _ in core.drop(id) }
        }
        stage = .added(id)
        pausedThere = paused
        if task[\.isCancelled] { return cancel(id, with: nil) }
        settlePause()
        if isStream, !asksAboutResponses { giveCredit(Self.window, to: id) }
    }

    /// Whether a delegate decides about the response.
    var asksAboutResponses: Bool {
        if case .delegate = completion { task is URLSessionDataTask && dataDelegate != nil } else { false }
    }

    /// The daemon has it from an earlier connection.
    func attach(_ id: TaskID) {
        guard !isOver else { return }
        stage = .added(id)
        pausedThere = task?.state == .suspended
        if task?[\.isCancelled] == true { cancel(id, with: nil) }
    }

    func settlePause() {
        guard let task, let id = remote, !isPausing else { return }
        let pauses = task.state == .suspended
        guard pauses != pausedThere, !task.state.isFinal else { return }
        isPausing = true
        core.call(pauses ? Methods.pauseTasks : Methods.resumeTasks, ControlSelection(ids: [id])) { [self] _ in
            isPausing = false
            pausedThere = pauses
            settlePause()
        }
    }

    /// Cancels it in the daemon and ends it here, with resume data if they are wanted.
    func cancel(_ id: TaskID, with error: URLError?) {
        if let error { endsAs = error }
        let error = endsAs
        let isDownload = task is URLSessionDownloadTask
        guard isDownload, !resumeDataWanted.isEmpty, sink == nil else {
            return core.call(Methods.cancelTasks, .init(ControlSelection(ids: [id]))) { [self] result in
                // The event of a durable task is to be acknowledged: it ends the task.
                switch result {
                case .success(let done) where !core.isVolatile && done.changed.contains(id): break
                // It is cancelled when the daemon is back.
                case .failure(let failure) where core.outlives(failure): break
                default: end(error)
                }
            }
        }
        isTakingResumeData = true
        core.call(Methods.takeResumeData, .init(id: id)) { [self] result in
            let blob = (try? result.get()).flatMap { ResumeData.pack($0.resumeData, task?.originalRequest) }
            end(error, resumeData: blob)
        }
    }
}
