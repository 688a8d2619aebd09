import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreTransactionTasksTests {
    let fixture = Fixture()

    private var fullSpec: TaskSpec {
        var spec = TaskSpec()
        spec.url = "https://example.org/ä?x=1"
        spec.headers = [HeaderField("X-One", "1"), HeaderField("X-One", "2")]
        spec.checksum = Checksum(algorithm: .md5, value: String(repeating: "0", count: 32))
        spec.priority = .high
        spec.deadlineAt = after(60)
        spec.description = "Quote \" and \u{1F41F}"
        spec.password = "secret"
        spec.rateLimit = 5000
        spec.timeoutIntervalForResource = 1.5
        return spec
    }

    private var fullStatus: TaskStatus {
        var status = TaskStatus(state: .waiting, createdAt: epoch)
        status.reason = .disk
        status.nextAttemptAt = after(5)
        status.error = TransferError(.diskFull, "Full.", details: ["needed": 5])
        status.attempts = 3
        status.failuresInRow = 2
        status.integrityRestarts = 1
        status.startedAt = after(1)
        status.budgetUsed = 1.25
        status.budgetMark = 77
        status.unresolvedSince = 2.5
        status.shortBody = ShortBody(received: 7, announced: 8, times: 2)
        return status
    }

    private let checkpoint = Checkpoint(
        offset: 5, total: 10, validators: Validators(etag: "\"e\"", lastModified: "L", date: "D"),
        contentCoding: "gzip", partPath: "/d/.part", device: .max, inode: 1 << 63, serverDigests: ["sha-256": "ab"])

    @Test func aTaskRemembersTheDeviceOfItsNewDestination() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write { try $0.setDestinationDevice(id, .max - 1) }
        #expect(try await store.read { try $0.task(id)?.destinationDevice } == .max - 1)
    }

    /// The given checkpoint is stored, whether the row exists, differs or was deleted.
    @Test(arguments: [1, 9, 70]) func checkpointsOfManyTasksAreStored(count: Int) async throws {
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try (0..<count).map { _ in try transaction.insert(newTask()).id }
        }
        func expect(_ checkpoints: [Checkpoint?]) async throws {
            for (id, checkpoint) in zip(ids, checkpoints) {
                #expect(try await store.read { try $0.task(id)?.checkpoint } == checkpoint)
            }
        }
        let checkpoint = checkpoint
        let first = ids.map { CheckpointChange($0, checkpoint, after: nil) }
        #expect(first.allSatisfy { !$0.onlyMoves })
        try await store.write { try $0.setCheckpoints(first) }
        try await expect(ids.map { _ in checkpoint })

        let second = ids.map { id in
            var moved = checkpoint
            moved.offset = ByteCount(6 + id.rawValue)
            if id == ids[0] { moved.ranges = [ByteRange(8, 9)] }
            return CheckpointChange(id, moved, after: checkpoint)
        }
        #expect(second.map(\.onlyMoves) == ids.map { $0 != ids[0] })
        try await store.write { try $0.setCheckpoints(second) }
        try await expect(second.map(\.checkpoint))

        let last = second.map { change in
            var moved = change.checkpoint
            moved.offset = 10
            return CheckpointChange(change.id, moved, after: change.checkpoint)
        }
        try await store.write { transaction in
            try transaction.setCheckpoint(ids[count - 1], nil)
            try transaction.setCheckpoints(last)
        }
        try await expect(last.map(\.checkpoint))
    }

    @Test func everythingOfATaskComesBack() async throws {
        let store = try fixture.open()
        var new = NewTask(session: .shared(of: alice), spec: fullSpec, status: fullStatus, host: "https://a:443")
        new.destinationDevice = .max
        new.checkpoint = checkpoint
        new.resourceTimeoutAt = after(100)
        let added = try await store.write { [new] in try $0.insert(new) }
        let response = ResponseInfo(
            url: "https://b/", status: 206, headers: [HeaderField("A", "b")], expectedLength: 5)
        let mark = FileMark(inode: .max, changed: 1_764_000_000_123_456_789, checksum: .max)
        let result = TaskResult(file: "/d/f", bytes: 10, sha256: "cd", verified: true, mark: mark)
        try await store.write { transaction in
            try transaction.setResponse(added.id, response)
            try transaction.update([
                StatusChange(
                    added.id, from: fullStatus.state, to: fullStatus, resourceTimeoutAt: after(100), result: result)
            ])
        }
        var expected = added
        expected.response = response
        expected.result = result
        let stored = try await store.read { try $0.task(added.id) }
        #expect(stored == expected)
        #expect(stored?.status == fullStatus)
        #expect(stored?.checkpoint == checkpoint)
        #expect(stored?.destinationDevice == .max)
    }

    /// This also holds for times that a stopped clock repeats, or that a clock set back makes smaller.
    @Test func theOutermostPositionsStayOutermost() async throws {
        let store = try fixture.open()
        var ids: [TaskID] = []
        for state in [TaskState.queued, .paused, .waiting, .queued, .queued] {
            ids.append(try await store.add(newTask(state)))
        }
        @Sendable func place(_ id: TaskID, isLast: Bool, at time: Timestamp) async throws {
            try await store.write { transaction in
                let position = try transaction.outermostPosition(of: id, isLast: isLast, at: time)
                try transaction.setPosition(id, position)
            }
        }
        for (index, time) in [(1, epoch), (0, epoch), (2, after(-60))] {
            try await place(ids[index], isLast: true, at: time)
        }
        for (index, time) in [(3, epoch), (4, after(-60))] { try await place(ids[index], isLast: false, at: time) }
        let later = try await store.add(newTask())
        let urgent = try await store.add(newTask(priority: 0.9))
        var query = TaskQuery()
        query.order = .queue
        let listed = try await store.read { [query] in try $0.page(query).tasks.map(\.record.id) }
        #expect(listed == [urgent, ids[4], ids[3], later, ids[1], ids[0], ids[2]])
    }

    @Test func aPositionThatIsAsLargeAsCanBeHasNoneBehind() async throws {
        let store = try fixture.open()
        let (id, other) = (try await store.add(newTask()), try await store.add(newTask()))
        let position = try await store.write { transaction in
            try transaction.setPosition(other, .greatestFiniteMagnitude)
            return try transaction.outermostPosition(of: id, isLast: true, at: epoch)
        }
        #expect(position.isFinite)
    }

    @Test func downloadsAreFoundByTheirURL() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for (state, change) in [
                (.completed, { _ in }), (.queued, { $0.isSought = false }), (.queued, { $0.spec.kind = .data }),
                (.paused, { _ in }), (.waiting, { _ in }),
            ] as [(TaskState, (inout NewTask) -> Void)] {
                var new = newTask(state, url: "https://h/a")
                change(&new)
                try transaction.insert(new)
            }
            try transaction.insert(newTask(owner: bob, url: "https://h/b"))
        }
        let urls = ["https://h/b", "https://h/a", "https://h/", "https://h/a"]
        #expect(
            try await store.read { try $0.queued(urls: urls, in: .shared(of: alice)) } == [1: TaskID(4), 3: TaskID(4)])
        #expect(try await store.read { try $0.queued(urls: urls, in: .shared(of: bob)) } == [0: TaskID(6)])
        #expect(try await store.read { try $0.queued(urls: [], in: .shared(of: alice)) }.isEmpty)
        let plan = try store.database.read { database in
            try database.plan(StoreSnapshot.queuedSQL, ["[]", 1])
        }
        #expect(plan.contains { $0.contains("INDEX task_url (session=? AND url=?)") }, "\(plan)")
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }

    @Test func partsAreReplacedAndForgotten() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write { [checkpoint] transaction in
            try transaction.setCheckpoint(id, checkpoint)
            try transaction.setCheckpoint(id, Checkpoint(offset: 9, partPath: "/p", device: 1, inode: 2))
            try transaction.setResponse(id, ResponseInfo(url: "u"))
            try transaction.setResponse(id, ResponseInfo(url: "v"))
            try transaction.setPosition(id, -2.5)
        }
        var task = try await store.read { try $0.task(id) }
        #expect(task?.checkpoint == Checkpoint(offset: 9, partPath: "/p", device: 1, inode: 2))
        #expect(task?.response?.url == "v")
        #expect(task?.position == -2.5)
        try await store.write { transaction in
            try transaction.setCheckpoint(id, nil)
            try transaction.setResponse(id, nil)
        }
        task = try await store.read { try $0.task(id) }
        #expect(task?.checkpoint == nil)
        #expect(task?.response == nil)
    }

    /// A later answer without a whole header removes the one of an earlier answer.
    @Test func theWholeHeadIsOfTheLastAnswer() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        let whole = WholeHead(
            url: "u?a=b", headers: [HeaderField("Set-Cookie", "a=1"), HeaderField("Set-Cookie", "b=2")])
        try await store.write { try $0.setResponse(id, StoredDocument(ResponseInfo(url: "u"), whole: whole)) }
        #expect(try await store.read { try $0.wholeHead(of: id) } == whole)
        #expect(try await store.read { try $0.task(id) }?.response == ResponseInfo(url: "u"))
        try await store.write { try $0.setResponse(id, ResponseInfo(url: "v")) }
        #expect(try await store.read { try $0.wholeHead(of: id) } == nil)
    }

    @Test func anUpdateFromAnotherStateChangesNothing() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        let (wrong, unknown, right) = try await store.write { transaction in
            (
                try transaction.update(id, from: .running, to: status(.paused)),
                try transaction.update(TaskID(99), from: .queued, to: status(.paused)),
                try transaction.update(id, from: .queued, to: status(.running))
            )
        }
        #expect(!wrong)
        #expect(!unknown)
        #expect(right)
        let task = try await store.read { try $0.task(id) }
        #expect(task?.status == status(.running))
    }

    @Test func aTokenMeansTheLastTaskThatItAddedAlsoOnceThatIsRemoved() async throws {
        let store = try fixture.open()
        var new = newTask()
        new.spec.clientToken = "token"
        let id = try await store.add(new)
        let look: @Sendable (UserID, Timestamp) async throws -> ClientTokenUse? = { owner, time in
            try await store.read { try $0.use(ofToken: "token", owner: owner, notBefore: time) }
        }
        #expect(
            try await look(alice, epoch) == ClientTokenUse(task: id, digest: nil, state: .queued, isRemoved: false))
        #expect(try await look(alice, after(1)) == nil)
        #expect(try await look(bob, epoch) == nil)
        new.status = TaskStatus(state: .queued, createdAt: after(90_000))
        new.status.state = .failed
        new.status.error = TransferError(.networkDNS, "x")
        new.status.finishedAt = epoch
        new.specDigest = Array(0..<16)
        let later = try await store.add(new)
        var use = ClientTokenUse(task: later, digest: new.specDigest, state: .failed, isRemoved: false)
        #expect(try await look(alice, epoch) == use)
        try await store.write { _ = try $0.delete(later) }
        use.isRemoved = true
        #expect(try await look(alice, epoch) == use)
    }

    @Test func aTaskNeedsItsSession() async throws {
        let store = try fixture.open()
        let error = await transferError { try await store.add(newTask(session: "unknown")) }
        #expect(error?.code == .sessionNotFound)
        let counts = try await store.read { try $0.counts() }
        #expect(counts.values.allSatisfy { $0 == 0 })
    }

    @Test func aChangedSpecMovesTheTaskToItsNewHost() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask(host: "https://old:443"))
        try await store.write { [fullSpec] in try $0.setSpec(id, fullSpec, host: "https://new:443") }
        let (task, heads) = try await store.read { (try $0.task(id), try $0.candidates(CandidateQuery()).tasks) }
        #expect(task?.spec == fullSpec)
        #expect(task?.host == "https://new:443")
        #expect(heads.map(\.host) == ["https://new:443"])
        #expect(heads.map(\.priority) == [TaskPriority.high.value])
        let error = await transferError {
            try await store.write { [fullSpec] in try $0.setSpec(TaskID(9), fullSpec, host: "h") }
        }
        #expect(error?.code == .taskNotFound)
    }

    @Test func deletingTakesEverythingOfTheTaskButItsEventsAndItsToken() async throws {
        let store = try fixture.open()
        var new = newTask()
        new.checkpoint = checkpoint
        new.spec.clientToken = "token"
        new.spec.tags = ["a", "b", "a"]
        let id = try await store.add(new)
        let (first, second) = try await store.write { transaction in
            try transaction.append(event(.taskAdded, task: id))
            try transaction.setResponse(id, ResponseInfo(url: "u"))
            return (try transaction.delete(id), try transaction.delete(id))
        }
        #expect(first)
        #expect(!second)
        let left = try store.database.read { database in
            try ["task", "checkpoint", "response", "task_tag", "lane", "event", "client_token"].map {
                try database.integer("SELECT count(*) FROM \($0)") ?? -1
            }
        }
        // The task that the token added is remembered for a day.
        #expect(left == [0, 0, 0, 0, 0, 1, 1])
    }

    /// Compares the counters, the lanes and their heads with a scan of the tasks, after thousands of random changes.
    @Test func countersAndHeadsAgreeWithTheTasks() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for name in ["a", "b"] {
                try transaction.insertSession(
                    SessionRecord(key: SessionKey(owner: alice, identifier: name), createdAt: epoch))
            }
        }
        for round in UInt64(0)..<20 {
            try? await store.write { transaction in
                var generator = SeededGenerator(state: round)
                for _ in 0..<100 {
                    try randomChange(transaction, &generator)
                    try expectMemoryAgrees(transaction)
                }
                if round % 5 == 4 { throw TransferError(.internal, "Undo the whole round.") }
            }
            try store.database.read { try expectDerivedRowsAgree($0) }
        }
        let tasks = try store.database.read { try $0.integer("SELECT count(*) FROM task") }
        #expect((tasks ?? 0) > 100)
    }

    private func randomChange(_ transaction: StoreTransaction, _ generator: inout SeededGenerator) throws {
        let states = TaskState.allCases
        let state = states[Int.random(in: 0..<states.count, using: &generator)]
        let host = "https://h\(Int.random(in: 0..<5, using: &generator)):443"
        let rank = Double(Int.random(in: 0...4, using: &generator)) / 4
        let known = Int64(try transaction.counts().values.reduce(0, +))
        let id = TaskID(Int64.random(in: 1...known + 50, using: &generator))
        switch Int.random(in: 0..<10, using: &generator) {
        case 0...3:
            let session = ["shared", "a", "b"][Int.random(in: 0..<3, using: &generator)]
            try transaction.insert(newTask(state, session: session, host: host, priority: rank))
        case 4...6:
            guard let task = try transaction.task(id) else { return }
            #expect(try transaction.update(id, from: task.status.state, to: status(state)))
        case 7:
            try transaction.setPosition(id, rank * 10)
        case 8:
            guard var task = try transaction.task(id) else { return }
            task.spec.priority = TaskPriority(rank)
            try transaction.setSpec(id, task.spec, host: host)
        default:
            try transaction.delete(id)
        }
    }

    /// Checks that the records in memory match their rows.
    private func expectMemoryAgrees(_ transaction: StoreTransaction) throws {
        for id in try transaction.taskIDs("SELECT id FROM task") {
            guard let known = transaction.recent?.record(id) else { continue }
            #expect(try StoreSnapshot(transaction.connection).task(id) == known)
        }
    }

    /// The body is part of the stored document, but not of the reported one.
    @Test func aDocumentIsTheAnswerWithItsBody() throws {
        var response = ResponseInfo(url: "u", status: 200, headers: [HeaderField("A", "b")])
        (response.fromCache, response.age) = (true, 7)
        for body in [nil, ResponseBody(text: "\"x\""), ResponseBody(base64: "AA==", truncated: true)] {
            response.body = body
            let document = StoredDocument(response)
            let text = try #require(document.text)
            #expect(try JSONCoding.decode(ResponseInfo.self, from: text) == response)
            let told = document.told["response"]
            #expect(told?["age"] == 7 && told?["body"] == nil)
        }
    }

    @Test func whatWasShortComesBackHoweverItWasStored() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        var status = try #require(try await store.read { try $0.status(of: id) })
        #expect(status.shortBody == nil)
        status.shortBody = ShortBody(received: 5, announced: 10, times: 3)
        let first = status
        let isStored = try await store.write { try $0.update(id, from: .queued, to: first) }
        #expect(isStored)
        #expect(try await store.read { try $0.task(id) }?.status == status)
        #expect(try await store.read { try $0.status(of: id) } == status)
        #expect(try await store.read { try $0.heads([id]) }.first?.status == status)
        status.shortBody = ShortBody(received: 6, announced: 10)
        let change = StatusChange(id, from: .queued, to: status, resourceTimeoutAt: nil)
        try await store.write { try $0.update([change]) }
        #expect(try await store.read { try $0.task(id) }?.status == status)
    }

    /// A file of an earlier build cannot be recognised, so it is never deleted.
    @Test func earlierResultsHaveNoMark() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        try await store.write {
            try $0.execute("UPDATE task SET result_file = '/f', result_bytes = 1, result_verified = 1")
        }
        let result = try await store.read { try $0.task(id) }?.result
        #expect(result == TaskResult(file: "/f", bytes: 1, verified: true))
    }
}
