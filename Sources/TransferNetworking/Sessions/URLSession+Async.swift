import Threading

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
