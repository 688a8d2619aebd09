import TransferModel

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
