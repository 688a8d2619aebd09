import Testing
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit
@testable import FileKit

@Suite struct TaskChangeTests {
    private let fixture: SupervisionFixture
    private var now: Timestamp { fixture.time.reading().wall }

    init() throws { fixture = try SupervisionFixture() }

    private func change(
        _ id: TaskID = TaskID(1), to destination: TaskChange.MovedDestination? = nil,
        _ set: (inout UpdateTask) -> Void = { _ in }
    ) -> TaskChange {
        var parameters = UpdateTask(id: id)
        set(&parameters)
        return TaskChange(parameters: parameters, destination: destination)
    }

    private let elsewhere: TaskChange.MovedDestination = (
        destination: Destination(path: "/new/file"), device: 7
    )
    private let checksum = Checksum(algorithm: .md5, value: String(repeating: "0", count: 32))

    // MARK: The run

    @Test func whatIsAskedOrDeliveredOtherwiseStopsTheRun() {
        let changes = [
            change { $0.url = "https://h/x" }, change { $0.mirrors = [] }, change { $0.headers = [] },
            change { $0.username = "u" }, change { $0.password = "p" }, change { $0.bearer = "b" },
            change { $0.netrc = "/n" }, change { $0.proxy = "http://p" }, change { $0.caFile = "/c" },
            change { $0.checksum = checksum }, change { $0.conflictPolicy = .rename }, change(to: elsewhere),
            change { $0.earliestBeginAt = now.advanced(by: 1) },
        ]
        for change in changes { #expect(change.stopsRun(at: now), "\(change)") }
    }

    @Test func theRunGoesOnUnderAnyOtherChange() {
        let changes = [
            change { $0.priority = .high }, change { $0.rateLimit = .unlimited }, change { $0.description = "d" },
            change { $0.deadlineAt = now.advanced(by: 1) }, change { $0.position = .first },
            change { $0.earliestBeginAt = now }, change { $0.attributes = ["a": "b"] },
        ]
        for change in changes { #expect(!change.stopsRun(at: now), "\(change)") }
    }

    // MARK: What is asked for

    /// - Returns: The user name, the password, the bearer token and the netrc file.
    private func credentials(_ set: (inout UpdateTask) -> Void) -> [String?] {
        var spec = TaskSpec()
        (spec.username, spec.password, spec.bearer, spec.netrc) = ("me", "old", "token", "/netrc")
        let changed = change(TaskID(1), to: nil, set).applied(to: spec)
        return [changed.username, changed.password, changed.bearer, changed.netrc]
    }

    @Test func credentialsAreReplacedTogether() {
        #expect(credentials { $0.password = "new" } == ["me", "new", nil, nil])
        #expect(credentials { $0.username = "you" } == ["you", nil, nil, nil])
        #expect(credentials { ($0.username, $0.password) = ("you", "new") } == ["you", "new", nil, nil])
        #expect(credentials { $0.bearer = "new" } == [nil, nil, "new", nil])
        #expect(credentials { $0.netrc = "/new" } == [nil, nil, nil, "/new"])
        #expect(credentials { $0.url = "https://h/x" } == ["me", "old", "token", "/netrc"])
    }

    @Test func anEmptyListRemovesTheMirrors() {
        var spec = TaskSpec()
        spec.mirrors = ["https://m/x"]
        #expect(change { $0.mirrors = [] }.applied(to: spec).mirrors == nil)
        #expect(change { $0.url = "https://h/x" }.applied(to: spec).mirrors == ["https://m/x"])
    }

    @Test func anEmptyListRemovesTheHeaders() {
        var spec = TaskSpec()
        spec.headers = [HeaderField("A", "b")]
        #expect(change { $0.headers = [] }.applied(to: spec).headers == nil)
        #expect(change { $0.url = "https://h/x" }.applied(to: spec).headers == [HeaderField("A", "b")])
    }

    @Test func attributesAreReplacedTogetherAndRemovedByNone() {
        var spec = TaskSpec()
        spec.attributes = ["a": "b", "c": "d"]
        #expect(change { $0.attributes = ["e": "f"] }.applied(to: spec).attributes == ["e": "f"])
        #expect(change { $0.attributes = [:] }.applied(to: spec).attributes == nil)
        #expect(change { $0.description = "d" }.applied(to: spec).attributes == ["a": "b", "c": "d"])
    }

    @Test(
        arguments: [
            [.pause], [.claimed], [.cancel(keepPartial: false)],
            [.claimed, .completed(TaskResult(bytes: 5, verified: false), duration: 1)],
        ] as [[TaskEvent]])
    func attributesChangeInAnyState(_ events: [TaskEvent]) async throws {
        let before = try await stored(after: events)
        let after = try await stored(after: events) { $0.attributes = ["gid": "0123"] }
        #expect(after.spec.attributes == ["gid": "0123"] && after.status.state == before.status.state)
    }

    @Test func theDestinationIsTheOneThatWasLookedAt() {
        let changed = change(to: elsewhere) { $0.destination = Destination(filename: "file") }.applied(to: TaskSpec())
        #expect(changed.destination == Destination(path: "/new/file"))
    }

    // MARK: The state

    /// - Parameter events: The events that bring a new task into the state in which it is changed.
    private func stored(
        after events: [TaskEvent], to destination: TaskChange.MovedDestination? = nil,
        _ set: (inout UpdateTask) -> Void = { _ in }
    ) async throws -> TaskRecord {
        let task = try await fixture.add(hosts: ["h"])[0]
        var spec = task.spec
        spec.destination = Destination(path: "/old/file")
        let placed = spec
        try await fixture.store.write { try $0.setSpec(task.id, placed, host: task.host) }
        for event in events { _ = try await fixture.apply(event, to: task.id) }
        let change = change(task.id, to: destination, set)
        let (transitions, now) = (fixture.transitions, fixture.time.reading())
        return try await fixture.store.write { transaction in
            let record = try #require(try transaction.task(task.id))
            return try change.store(over: record, transitions, at: now, in: transaction)
        }
    }

    private func waiting(for reason: WaitReason) -> [TaskEvent] {
        [.blocked(reason, nil, nextAttemptAt: now.advanced(by: 100))]
    }

    @Test func aNewDestinationEndsAWaitForADiskOnly() async throws {
        for reason in [WaitReason.disk, .retry, .network, .schedule] {
            let status = try await stored(after: waiting(for: reason), to: elsewhere).status
            #expect(status.state == (reason == .disk ? .queued : .waiting), "\(reason)")
        }
    }

    @Test(arguments: [ErrorCode.diskFull, .diskQuota, .diskIO, .networkLost])
    func aNewDestinationEndsTheWaitAfterADiskFailure(_ code: ErrorCode) async throws {
        let failed = TaskEvent.blocked(.retry, TransferError(code, "No."), nextAttemptAt: now.advanced(by: 100))
        let status = try await stored(after: [failed], to: elsewhere).status
        #expect(status.state == (code == .networkLost ? .waiting : .queued))
    }

    @Test func anotherTimeToBeginReplacesTheOneThatIsWaitedFor() async throws {
        let later = now.advanced(by: 50)
        for events in [[], [.claimed], waiting(for: .schedule)] as [[TaskEvent]] {
            let task = try await stored(after: events) { $0.earliestBeginAt = later }
            #expect(task.status.state == .waiting && task.status.reason == .schedule, "\(events)")
            #expect(task.status.nextAttemptAt == later && task.spec.earliestBeginAt == later)
        }
        #expect(try await stored(after: waiting(for: .schedule)) { $0.earliestBeginAt = now }.status.state == .queued)
    }

    @Test func aTimeToBeginLeavesOtherWaitsAlone() async throws {
        for events in [[.pause], waiting(for: .retry)] as [[TaskEvent]] {
            let task = try await stored(after: events) { $0.earliestBeginAt = now.advanced(by: 50) }
            #expect(task.status.reason != .schedule && task.status.state != .queued)
            #expect(task.spec.earliestBeginAt == now.advanced(by: 50))
        }
    }

    @Test func whatHasEndedIsNotGivenATimeToBegin() async throws {
        let error = await #expect(throws: TransferError.self) {
            _ = try await stored(after: [.cancel(keepPartial: true)]) { $0.earliestBeginAt = now }
        }
        #expect(error?.code == .taskWrongState)
    }

    /// Parts go to URLs of their own.
    @Test(arguments: [false, true]) func anotherURLOfTheTaskIsNotAnotherS3Upload(isSignedAnew: Bool) async throws {
        let (key, time) = (fixture.key, fixture.time.reading())
        _ = try await fixture.add(hosts: [])
        var spec = TaskSpec()
        spec.kind = .upload
        spec.url = "https://h/bucket/f"
        spec.s3 = S3Upload(
            partURLs: ["https://h/bucket/f?uploadId=u&partNumber=1"], partSize: 5,
            completeURL: "https://h/bucket/f?uploadId=u", abortURL: "https://h/bucket/f?uploadId=u")
        let renewed = S3Upload(
            partURLs: ["https://bucket.h/f?uploadId=u&partNumber=1"], partSize: 5,
            completeURL: "https://bucket.h/f?uploadId=u", abortURL: "https://bucket.h/f?uploadId=u")
        let (upload, transitions) = (spec, fixture.transitions)
        let source = SourceIdentity(device: 1, inode: 2, size: 5, modified: 3)
        let stored = try await fixture.store.write { transaction in
            let id = try transaction.insert(
                NewTask(
                    session: key, spec: upload, status: TaskStatus(state: .paused, createdAt: time.wall),
                    host: "https://h:443")
            ).id
            try transaction.setSource(id, source)
            var progress = try #require(upload.s3Progress(of: source, at: time.wall))
            progress.partETags = [1: "\"etag\""]
            try transaction.setUpload(id, progress.begun(at: try URLRules.parse(upload.url ?? "")))
            let record = try #require(try transaction.task(id))
            let change = change(id) {
                $0.url = "https://bucket.h/f"
                if isSignedAnew { $0.s3 = renewed }
            }
            return try change.store(over: record, transitions, at: time, in: transaction)
        }
        #expect(stored.upload?.partETags == [1: "\"etag\""])
        #expect(stored.upload?.belongs(to: try URLRules.parse("https://bucket.h/f")) == true)
        #expect(try await fixture.store.read { try $0.uploadEndings(limit: 10) }.isEmpty)
    }

    /// Nothing was sent, and the URL that ends the upload is new.
    @Test func anUploadIsEndedAtTheURLThatCameLater() async throws {
        let (key, time) = (fixture.key, fixture.time.reading())
        _ = try await fixture.add(hosts: [])
        var spec = TaskSpec()
        spec.kind = .upload
        spec.url = "https://h/f"
        spec.s3 = S3Upload(partURLs: ["https://h/1"], partSize: 5, completeURL: "https://h/c")
        var later = spec.s3
        later?.abortURL = "https://h/a"
        let (upload, s3) = (spec, later)
        let transitions = fixture.transitions
        let stored = try await fixture.store.write { transaction in
            let record = try transaction.insert(
                NewTask(
                    session: key, spec: upload, status: TaskStatus(state: .paused, createdAt: time.wall),
                    host: "https://h:443"))
            return try change(record.id) { $0.s3 = s3 }.store(
                over: record, transitions, at: time, in: transaction)
        }
        #expect(stored.upload?.uploadProtocol == .s3Multipart)
    }
}
