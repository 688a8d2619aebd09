import TransferModel
import TransferRPC

// What the daemon tells, as messages to handlers and delegates.
extension TaskCourse {
    /// The head of the response. What only the owner may see is left out of events: cookies, and secrets in URLs.
    func received(_ info: ResponseInfo) {
        guard let id = remote, info.status != nil else { return accepted(Mapping.response(info)) }
        isHeld = true
        core.call(Methods.getTask, .init(id: id, secrets: true)) { [self] result in
            let view = try? result.get()
            if let view, let toSend = task?.countOfBytesExpectedToSend, toSend > 0 {
                sent(min(view.bytesSent, toSend), of: toSend)
            }
            accepted(Mapping.response(view?.response ?? info))
            if !isAsking { release() }
        }
    }

    /// Takes a response, and lets a delegate decide about it.
    func accepted(_ response: URLResponse) {
        guard let task, !isOver else { return }
        task.values.withLock { values in
            values.response = response
            values.expectedToReceive = response.expectedContentLength
            if let url = response.url { values.currentRequest?.url = url }
        }
        task.progress.totalUnitCount = response.expectedContentLength
        if case .bytes(let feed) = completion { feed.received(response) }
        if case .inProcess = stage, task is URLSessionDownloadTask, sink == nil {
            destination = BodyFile.create(in: BodyFile.folder)
            sink = destination.flatMap { FileHandle(forWritingAtPath: $0) }
            if sink == nil { return fail(URLError(.cannotCreateFile)) }
        }
        guard let data = task as? URLSessionDataTask, asksAboutResponses else { return }
        isHeld = true
        isAsking = true
        message(to: dataDelegate) { [self] delegate, session in
            let once = Once<URLSession.ResponseDisposition>()
            delegate.urlSession(session, dataTask: data, didReceive: response) { disposition in
                once.take(disposition) { disposition in
                    self.core.queue.async { self.decided(disposition) }
                }
            }
        }
    }

    private func decided(_ disposition: URLSession.ResponseDisposition) {
        isAsking = false
        guard !isOver, let task else { return }
        switch disposition {
        case .allow:
            if let id = remote, isStream, !hasCredit { giveCredit(Self.window, to: id) }
            if case .inProcess(let loading) = stage { loading.goOn() }
            release()
        case .becomeDownload: becomeDownload()
        case .cancel, .becomeStream: task.cancel()
        }
    }

    /// The bytes held at the head become the first of the file; nothing is asked again.
    private func becomeDownload() {
        guard let old = task as? URLSessionDataTask, let session = core.session else { return }
        let new = session.make(
            URLSessionDownloadTask.init, old.originalRequest, .nothing, .delegate, delegate: old.delegate)
        new.values.withLock { [values = old.values.withLock { $0 }] in
            $0 = values
            $0.suspensions = 0
        }
        let course = new.course
        guard let path = BodyFile.create(in: BodyFile.folder), let file = FileHandle(forWritingAtPath: path) else {
            return end(URLError(.cannotCreateFile))
        }
        course.destination = path
        course.sink = file
        core.begins(new)
        let (stage, notices) = (stage, takeHeld())
        self.stage = .over
        old[\.hasEnded] = true
        core.ended(old)
        message(to: dataDelegate) { $0.urlSession($1, dataTask: old, didBecome: new) }
        course.follow(self)
        course.stage = stage
        switch stage {
        case .added(let id):
            core.redirect(id, to: course)
            if isStreamed, !hasCredit { course.giveCredit(Self.window, to: id) }
        case .inProcess(let loading): loading.continues(as: course)
        case .idle, .submitted, .over: break
        }
        for incoming in notices { course.received(incoming) }
    }

    /// Bytes of the body, in order.
    func received(_ data: Data) {
        guard let task, !isOver, !task[\.isCancelled], !data.isEmpty else { return }
        let total = task.values.withLock { values in
            values.received += Int64(data.count)
            return values.received
        }
        task.progress.completedUnitCount = total
        if let sink {
            do { try sink.write(contentsOf: data) } catch { return fail(URLError(.cannotWriteToFile)) }
            wrote(total, of: task[\.expectedToReceive])
            return consumed(data.count)
        }
        switch completion {
        case .bytes(let feed): feed.received(data)
        case .data, .file:
            body.append(data)
            consumed(data.count)
        case .delegate:
            guard let task = task as? URLSessionDataTask else { return }
            if total <= core.mostStored { body.append(data) } else { body = Data() }
            message(to: dataDelegate) { [self] delegate, session in
                if !task[\.isCancelled] { delegate.urlSession(session, dataTask: task, didReceive: data) }
                consumed(data.count)
            } otherwise: {
                consumed(data.count)
            }
        }
    }

    func resumed(at offset: Int64, of total: Int64) {
        guard let task = task as? URLSessionDownloadTask, offset > 0 else { return }
        task.values.withLock { $0.received = offset }
        toldWritten = offset
        message(to: downloadDelegate) {
            $0.urlSession($1, downloadTask: task, didResumeAtOffset: offset, expectedTotalBytes: total)
        }
    }

    func progressed(_ notice: Notice) {
        guard let task else { return }
        let toSend = notice.bytesToSend ?? 0
        if let sent = notice.bytesSent, toSend > 0 { self.sent(sent, of: toSend) }
        guard task is URLSessionDownloadTask, sink == nil, let received = notice.bytesReceived else { return }
        let total = notice.bytesExpected ?? -1
        task.values.withLock { values in
            values.received = received
            if total >= 0 { values.expectedToReceive = total }
        }
        task.progress.totalUnitCount = total
        task.progress.completedUnitCount = received
        wrote(received, of: total)
    }

    func wrote(_ total: Int64, of expected: Int64) {
        guard let task = task as? URLSessionDownloadTask, total > toldWritten else { return }
        let count = total - toldWritten
        toldWritten = total
        message(to: downloadDelegate) {
            $0.urlSession(
                $1, downloadTask: task, didWriteData: count, totalBytesWritten: total,
                totalBytesExpectedToWrite: expected)
        }
    }

    func sent(_ total: Int64, of expected: Int64) {
        guard let task, total > toldSent else { return }
        let count = total - toldSent
        toldSent = total
        task.values.withLock { values in
            values.sent = total
            values.expectedToSend = expected
        }
        message(to: delegate) {
            $0.urlSession(
                $1, task: task, didSendBodyData: count, totalBytesSent: total, totalBytesExpectedToSend: expected)
        }
    }
}
