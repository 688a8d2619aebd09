import TestSupport
import Testing
import TransferModel

/// One fault: what the server does, for which ways of uploading, and how the upload ends.
struct UploadFaultCase: Sendable {
    enum Ending: Sendable {
        case completed
        /// With this code, and this status in its details.
        case failed(String, Int? = nil)
        /// For this many seconds, as the server requested.
        case waiting(Double, Int)
    }

    var name: String
    var kind: UploadFaultSubject.Kind
    var script: [UploadFault]
    var ending: Ending
    /// Options of the task.
    var options: [String: JSONValue] = [:]
    /// The file must be large enough that it is still being sent when the fault occurs, however fast it is sent.
    var isLarge = false
    /// The most requests that it may cost.
    var requests = 10
    /// The most bytes of one append.
    var longestAppend = Int.max
    /// How many upload resources it makes in addition to the necessary one.
    var extra = 0
    /// The number of `task.restarted` events.
    var restarts = 0

    init(
        _ name: String, _ kind: UploadFaultSubject.Kind, _ script: [UploadFault], _ ending: Ending = .completed,
        options: [String: JSONValue] = [:], isLarge: Bool = false, requests: Int = 10, longestAppend: Int = .max,
        extra: Int = 0, restarts: Int = 0
    ) {
        self.name = name
        self.kind = kind
        self.script = script
        self.ending = ending
        self.options = options
        self.isLarge = isLarge
        self.requests = requests
        self.longestAppend = longestAppend
        self.extra = extra
        self.restarts = restarts
    }
}

/// A case with its server, and its result.
struct UploadFaultRun {
    let subject: UploadFaultSubject
    let fault: UploadFaultCase
    let server: UploadServer
    private let probe: RPCProbe
    private var comment: Comment { "\(subject.testDescription): \(fault.name)" }

    init(_ subject: UploadFaultSubject, _ fault: UploadFaultCase, _ daemon: DaemonProcess) async throws {
        self.subject = fault.isLarge ? subject.large : subject
        self.fault = fault
        server = try UploadServer(subject.rules, fault.script)
        probe = try await daemon.probe()
    }

    private static let types: [JSONValue] = [
        "task.added", "task.started", "task.queued", "task.waiting", "task.resumed", "task.restarted", "task.response",
        "task.completed", "task.failed", "task.cancelled",
    ]

    /// More events than any case may cause.
    private static let patience = 120

    /// Uploads the file, and checks everything that the case promises.
    /// - Parameter source: returns the file of a subject.
    func perform(source: (UploadFaultSubject) -> String) async throws {
        let source = source(subject)
        let id = try await probe.add([subject.spec(server, source: source, fault.options)])[0]
        try await probe.call(
            "events.subscribe", ["tasks": [.integer(id)], "after": "start", "types": .array(Self.types)])
        var events: [JSONValue] = []
        repeat {
            events.append(try await probe.nextEvent())
        } while !isLast(events[events.count - 1]) && events.count < Self.patience
        let task = try await probe.task(id)
        expectEnding(task, events)
        expectConsistent(events)
        subject.expectNoMixture(server, comment)
        let requests = server.requests()
        #expect(requests.count <= fault.requests, "\(comment): \(requests.map { "\($0.method) \($0.status)" })")
        #expect(server.requests(in: .append).allSatisfy { $0.received <= fault.longestAppend }, comment)
        guard subject.kind.isSubset(of: .resuming) else { return }
        #expect(server.files.all.count <= 1 + fault.extra, comment)
    }

    /// Nothing more happens, or not soon.
    private func isLast(_ event: JSONValue) -> Bool {
        switch event["type"]?.stringValue {
        case "task.completed", "task.failed", "task.cancelled": true
        case "task.waiting": (delay(event) ?? 0) > 100
        default: false
        }
    }

    /// The seconds that a `task.waiting` event announces.
    private func delay(_ event: JSONValue) -> Double? {
        guard let next = event["nextAttemptAt"]?.stringValue.flatMap({ Timestamp($0) }),
            let time = event["time"]?.stringValue.flatMap({ Timestamp($0) })
        else { return nil }
        return next.since(time).rawValue
    }

    private func expectEnding(_ task: JSONValue, _ events: [JSONValue]) {
        let seen: Comment = "\(comment): \(task["error"] ?? .null)"
        switch fault.ending {
        case .completed:
            #expect(task["state"] == "completed", seen)
            #expect(task["bytesSent"]?.integerValue == Int64(subject.content.size), comment)
            let asked = server.requests().map { "\($0.method) \($0.path) \($0.status)" }
            subject.expectWhole(server, "\(comment): \(asked)")
        case .failed(let code, let status):
            #expect(task["state"] == "failed", seen)
            #expect(task.errorCode == code, seen)
            if let status { #expect(task["error", "details", "status"] == .integer(Int64(status)), seen) }
            #expect(task["error", "retryable"] == false || task["attempts"] == 4, seen)
        case .waiting(let seconds, let status):
            #expect(task["state"] == "waiting", seen)
            #expect(task["reason"] == "retry", seen)
            #expect(task["error", "details", "status"] == .integer(Int64(status)), seen)
            let announced = events.last.flatMap { delay($0) } ?? 0
            #expect(abs(announced - seconds) < 1, "\(comment): waits \(announced) s")
        }
        guard case .completed = fault.ending else {
            #expect((task["error", "message"]?.stringValue ?? "").count > 20, seen)
            return
        }
    }

    /// Every attempt began once, ended once, and continued where the server had said.
    private func expectConsistent(_ events: [JSONValue]) {
        let types = events.compactMap { $0["type"]?.stringValue }
        let seen: Comment = "\(comment): \(types)"
        #expect(types.first == "task.added", seen)
        let attempts = events.filter { $0["type"] == "task.started" }
        #expect(attempts.map { $0["attempt"]?.integerValue } == attempts.indices.map { Int64($0 + 1) }, seen)
        let endings = types.count { ["task.waiting", "task.completed", "task.failed"].contains($0) }
        #expect(endings == attempts.count, seen)
        #expect(types.count { $0 == "task.queued" } == attempts.count - 1, seen)
        #expect(types.count { $0 == "task.restarted" } == fault.restarts, seen)
        #expect(events.filter { $0["type"] == "task.waiting" }.allSatisfy { delay($0) != nil }, seen)
        let sequences = events.compactMap { $0["sequence"]?.integerValue }
        #expect(sequences == sequences.sorted() && Set(sequences).count == events.count, seen)
        for event in events where event["type"] == "task.resumed" {
            let offset = event["offset"]?.integerValue ?? -1
            #expect((1...Int64(subject.content.size)).contains(offset), seen)
            #expect(event["expected"] == .integer(Int64(subject.content.size)), seen)
        }
    }
}
