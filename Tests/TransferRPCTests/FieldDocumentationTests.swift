import Foundation
import Testing
import TransferModel
import TransferRPC

/// The documented members match the coded members.
struct FieldDocumentationTests {
    @Test func documentedFieldsAreTheCodedOnes() throws {
        try expectCoded(
            Samples.taskView,
            encodes: [
                "id", "state", "bytesReceived", "rate", "error", "response", "file", "metrics", "metricsDropped",
            ])
        try expectCoded(ExchangeView(Samples.exchange), encodes: Set(ExchangeView.fields.map(\.name)))
        try expectCoded(Samples.sessionView, encodes: Set(SessionView.fields.map(\.name)))
        try expectCoded(Samples.info, encodes: Set(DaemonInfo.fields.map(\.name)))
        try expectCoded(Samples.stats, encodes: Set(DaemonStats.fields.map(\.name)))
        try expectCoded(Samples.metrics, encodes: Set(DaemonMetrics.fields.map(\.name)))
        try expectCoded(Samples.response, encodes: Set(ResponseInfo.fields.map(\.name)))
        try expectCoded(Samples.error, encodes: Set(TransferError.fields.map(\.name)))
        try expectCoded(GetTask(id: TaskID(1), secrets: true), encodes: ["id", "secrets"])
        try expectCoded(Samples.update, encodes: Set(UpdateTask.fields.map(\.name)))
        try expectCoded(Samples.list, encodes: Set(ListTasks.fields.map(\.name)))
        try expectCoded(Samples.subscribe, encodes: Set(Subscribe.fields.map(\.name)))
        try expectCoded(Samples.listEvents, encodes: Set(ListEvents.fields.map(\.name)))
        try expectCoded(Samples.cancel, encodes: Set(CancelTasks.fields.map(\.name)))
        try expectCoded(Samples.retry, encodes: Set(RetryTasks.fields.map(\.name)))
        try expectCoded(Samples.remove, encodes: Set(RemoveTasks.fields.map(\.name)))
        try expectCoded(Samples.open, encodes: Set(OpenSession.fields.map(\.name)))
    }

    @Test func everyFieldHasASentence() {
        for method in Methods.all {
            #expect(method.summary.hasSuffix("."), "\(method.name)")
            for (name, field) in method.parameters.fields + method.result.fields {
                #expect(field.text.hasSuffix("."), "\(method.name): \(name)")
            }
        }
        for fields in [TaskSpec.fields, SessionConfiguration.fields, TaskView.fields, EventView.fields] {
            for (name, field) in fields { #expect(field.text.hasSuffix("."), "\(name)") }
        }
    }

    /// Checks that each encoded member is documented, that the `wanted` members are encoded, and that the text decodes
    /// to the same value.
    private func expectCoded<Value: WireObject & Equatable>(_ value: Value, encodes wanted: Set<String>) throws {
        let text = JSONCoding.encode(value)
        guard case .object(let members) = try JSONCoding.decode(JSONValue.self, from: text, lenient: true) else {
            Issue.record("\(Value.wireName) is no object")
            return
        }
        var documented = Set(Value.fields.map(\.name))
        if Value.self == TaskView.self { documented.formUnion(TaskSpec.fields.map(\.name)) }
        #expect(Set(members.keys).isSubset(of: documented), "\(Value.wireName)")
        #expect(wanted.isSubset(of: Set(members.keys)), "\(Value.wireName)")
        for (name, field) in Value.fields where field.isRequired {
            #expect(members[name] != nil, "\(Value.wireName).\(name) is required")
        }
        #expect(try JSONCoding.decode(Value.self, from: text, lenient: true) == value)
    }
}

enum Samples {
    static let time = Timestamp(milliseconds: 1_700_000_000_123)
    static let key = SessionKey(owner: UserID(1000), identifier: "work")

    static var error: TransferError {
        var error = TransferError(.badField, "No.")
        error.resumable = true
        return error
    }

    static var response: ResponseInfo {
        var response = ResponseInfo(
            url: "https://example.org/f", status: 200, statusText: "OK",
            headers: [HeaderField("Set-Cookie", "id=secret"), HeaderField("ETag", "\"1\"")], mimeType: "text/plain",
            textEncoding: "utf-8", expectedLength: 10, suggestedFilename: "f.txt")
        response.resumedFrom = 5
        response.headersTruncated = true
        (response.fromCache, response.age) = (true, 7)
        response.body = ResponseBody(text: "hello", base64: nil, truncated: true)
        return response
    }

    /// A task with every secret that a spec can have.
    static var record: TaskRecord {
        var spec = TaskSpec()
        spec.url = "https://user:s3cret@example.org/f?a=1"
        spec.proxy = "http://user:s3cret@proxy:3128"
        spec.headers = [
            HeaderField("Authorization", "Bearer s3cret"), HeaderField("X-Auth-Token", "s3cret"),
            HeaderField("cookie", "s3cret"), HeaderField("Proxy-Authorization", "s3cret"), HeaderField("Accept", "*/*"),
        ]
        var body = RequestBody()
        body.text = "password=s3cret"
        spec.body = body
        spec.username = "user"
        spec.password = "s3cret"
        spec.bearer = "s3cret"
        spec.clientToken = "job-7"
        spec.resumeData = "s3cret"
        var certificate = ClientCertificate(certificate: "/c.pem")
        certificate.password = "s3cret"
        spec.clientCertificate = certificate
        spec.description = "a file"
        var status = TaskStatus(state: .failed, createdAt: time)
        status.attempts = 3
        status.error = TransferError(.httpStatus, "The server said 404.", details: ["status": 404])
        status.startedAt = time
        status.finishedAt = time
        var record = TaskRecord(
            id: TaskID(7), session: key, spec: spec, status: status, host: "https://example.org:443", position: 7)
        var answer = response
        answer.url = "https://user:s3cret@example.org/f"
        answer.headers[0] = HeaderField("Set-Cookie", "id=s3cret")
        record.response = answer
        record.result = TaskResult(file: "/home/u/f", bytes: 10, sha256: "00", verified: true)
        return record
    }

    static var taskView: TaskView { TaskView(record).with(TaskMetrics([exchange], dropped: 1)) }

    /// An exchange with every possible member.
    static var exchange: ExchangeMetrics {
        var exchange = ExchangeMetrics(fetchStart: time.rawValue * 1000)
        let step = ExchangeMetrics.Interval(1000, 2999)
        (exchange.domainLookup, exchange.connect, exchange.secureConnection) = (step, step, step)
        (exchange.request, exchange.response) = (step, step)
        (exchange.transferProtocol, exchange.proxy) = (.http2, "proxy:3128")
        (exchange.remote, exchange.local) = (.init("::1", 443), .init("::1", 50_000))
        exchange.tls = .init(version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384")
        return exchange
    }

    static var sessionView: SessionView {
        var record = SessionRecord(key: key, createdAt: time)
        record.pause.since = 1
        return SessionView(record, tasks: [.queued: 2], unacknowledgedEvents: 1)
    }

    static var info: DaemonInfo {
        DaemonInfo(
            name: "dld", version: "1", protocol: 1, pid: 2, uid: UserID(3), mode: .user, administrator: true,
            socket: "/s", sockets: ["/s", "/t"], stateDirectory: "/d", userDirectory: "/d/files/3", startedAt: time,
            libcurl: "8",
            sqlite: "3", schemes: ["gopher"], features: ["http"], damage: "It is damaged.")
    }

    static var stats: DaemonStats {
        var stats = DaemonStats(
            tasks: ["queued": 1], activeTransfers: 1, downloadRate: 2, uploadRate: 0, bytesReceived: 3, bytesSent: 0,
            memory: 4, connections: 5, head: SequenceNumber(6), uptime: 7, damage: "It is damaged.")
        (stats.isMetered, stats.isCellular, stats.isBehindPortal, stats.isOnBattery) = (true, false, false, true)
        return stats
    }

    static var metrics: DaemonMetrics {
        var metrics = DaemonMetrics()
        metrics.tasks = [.init(state: .queued, kind: .download, count: 1)]
        metrics.finished = [.init(kind: .data, outcome: .failed, code: "http.status", count: 2)]
        metrics.storeCommits = .init(buckets: [.init(le: 0.001, count: 3)], sum: 0.5, count: 4)
        (metrics.cpuTime, metrics.openDescriptors) = (1.5, 7)
        return metrics
    }

    static var update: UpdateTask {
        var update = UpdateTask(id: TaskID(1))
        update.s3 = S3Upload(
            partURLs: ["https://s/1"], partSize: 5, completeURL: "https://s/c", abortURL: "https://s/a")
        update.priority = .high
        update.rateLimit = 5
        update.url = "https://example.org"
        update.mirrors = ["https://example.com"]
        update.headers = [HeaderField("A", "b")]
        update.username = "u"
        update.password = "p"
        update.bearer = "b"
        update.netrc = "/n"
        update.interface = "eth0"
        update.proxy = "none"
        update.caFile = "/c"
        (update.allowsExpensiveNetworkAccess, update.allowsCellularAccess) = (true, true)
        (update.allowsConstrainedNetworkAccess, update.isDiscretionary) = (true, false)
        update.checksum = Checksum(algorithm: .md5, value: "0")
        update.destination = Destination(directory: "/d", filename: "f")
        update.conflictPolicy = .rename
        update.deadlineAt = time
        update.description = "d"
        update.attributes = ["a": "b"]
        update.earliestBeginAt = time
        update.position = .last
        return update
    }

    static let list = ListTasks(
        session: "s", states: [.queued], kinds: [.download], ids: [TaskID(1)],
        range: TaskRange(TaskID(3)...TaskID(7)), tags: ["t"], clientTokens: ["k"], match: "m", order: .newest,
        cursor: "c", offset: 2, limit: 5, total: true, owner: .everyone)
    static let subscribe = Subscribe(
        after: .after(SequenceNumber(4)), subscriber: "n", sessions: ["s"], tasks: [TaskID(1)], types: [.taskAdded],
        progressInterval: 1, owner: .user(UserID(5)))
    static let listEvents = ListEvents(
        after: .start, sessions: ["s"], tasks: [TaskID(1)], types: [.taskAdded], limit: 3, owner: .everyone)
    static let selection = ControlSelection(
        ids: [TaskID(1)], range: TaskRange(TaskID(3)...TaskID(7)), session: "s", all: true, states: [.paused],
        owner: .everyone)
    static let cancel = CancelTasks(selection, keepPartial: true)
    static let retry = RetryTasks(selection, sourceChanged: true)
    static let remove = RemoveTasks(selection, deleteFile: true)
    static let open = OpenSession(
        id: "s", kind: .background, configuration: SessionConfiguration(), owner: UserID(1))
}
