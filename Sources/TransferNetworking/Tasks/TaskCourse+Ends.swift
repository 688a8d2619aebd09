import TransferModel
import TransferRPC

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
        core.call(ReadBody.self, .init(id: id, offset: offset)) { [self] result in
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
        core.call(TakeResumeData.self, .init(id: id)) { [self] result in
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
        core.call(GetTask.self, .init(id: id)) { [self] result in
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
