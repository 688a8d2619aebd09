import TestSupport
import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct TaskHandlersTests {
    @Test func addsAndShowsATask() async throws {
        let bench = try await Bench()
        var spec = TaskSpec()
        spec.url = "https://u:p@example.org/file"
        spec.password = "s3cret"
        spec.startPaused = true
        let added = try await bench.call(Methods.addTasks, .init(tasks: [spec]))
        #expect(added.tasks == [.init(id: TaskID(1), state: .paused)])
        let view = try await bench.call(Methods.getTask, .init(id: TaskID(1)))
        #expect(view.spec.url == "https://example.org/file" && view.spec.password == nil)
        #expect(view.session == "shared" && view.owner == Bench.user.uid && view.state == .paused)
        #expect(view.bytesExpected == -1)
    }

    @Test func aKeptBodyComesInPieces() async throws {
        let bench = try await Bench()
        let id = try await bench.add(1)[0]
        let first = try await bench.call(Methods.readBody, .init(id: id, offset: 2, length: 3))
        #expect(first == BodyData(data: "MjM0", eof: false))
        #expect(try await bench.call(Methods.readBody, .init(id: id, offset: 5)).eof)
        for (offset, length) in [(-1, 1), (0, 0), (0, ReadBody.largestPiece + 1)] as [(Int64, Int64)] {
            let refusal = await bench.refusal(Methods.readBody, .init(id: id, offset: offset, length: length))
            #expect(refusal?.code == .badField)
        }
        #expect(await bench.refusal(Methods.readBody, .init(id: id), as: Bench.other)?.code == .taskNotFound)
    }

    @Test func refusesNoTasks() async throws {
        let bench = try await Bench()
        #expect(await bench.refusal(Methods.addTasks, .init(tasks: []))?.code == .badField)
    }

    /// Times are in milliseconds, and addresses are in the form of URLs. Administrators see them too.
    @Test(arguments: [Bench.user, Bench.root])
    func aTaskTellsWhatItsExchangesTook(peer: Peer) async throws {
        let bench = try await Bench()
        let view = try await bench.call(Methods.getTask, .init(id: try await bench.add(1)[0]), as: peer)
        #expect(view.metrics?.first?.fetchStart == Sample.time && view.metricsDropped == 3)
        #expect(view.metrics?.first?.remote == "[::1]:80" && view.metrics?.first?.connect == nil)
        #expect(try await bench.call(Methods.listTasks, .init(), as: Bench.user).tasks.allSatisfy { $0.metrics == nil })
    }

    @Test func anothersTaskDoesNotExist() async throws {
        let bench = try await Bench()
        let id = try await bench.add(1)[0]
        let unknown = await bench.refusal(Methods.getTask, .init(id: TaskID(999)), as: Bench.other)
        let foreign = await bench.refusal(Methods.getTask, .init(id: id), as: Bench.other)
        #expect(unknown?.code == .taskNotFound && foreign?.code == .taskNotFound)
        #expect(await bench.refusal(Methods.takeResumeData, .init(id: id), as: Bench.other)?.code == .taskNotFound)
        #expect(await bench.refusal(Methods.updateTask, .init(id: id), as: Bench.other)?.code == .taskNotFound)
        #expect(try await bench.call(Methods.getTask, .init(id: id), as: Bench.root).owner == Bench.user.uid)
    }

    @Test func secretsAreForTheOwnerAlone() async throws {
        let bench = try await Bench()
        var spec = TaskSpec()
        spec.url = "https://u:p@example.org/file?a=b"
        (spec.password, spec.headers) = ("s3cret", [HeaderField("X-Api-Key", "k1"), HeaderField("X-Api-Key", "k2")])
        spec.body = RequestBody()
        let id = try await bench.call(Methods.addTasks, .init(tasks: [spec])).tasks[0].id
        try await bench.store.write { try $0.setResponse(id, ResponseInfo(url: "https://h/f", status: 200)) }
        let view = try await bench.call(Methods.getTask, .init(id: id, secrets: true))
        #expect(view.spec.url == spec.url && view.spec.password == "s3cret" && view.spec.headers == spec.headers)
        #expect(view.spec.body?.text == "abc" && view.spec.body?.size == nil)
        #expect(view.response?.url == "https://h/f?token=t" && view.response?.status == 200)
        #expect(view.response?.headers == [HeaderField("Set-Cookie", "a=1")])
        #expect(view.response?.body == ResponseBody(size: .mebibytes(2)))
        for masked in [nil, false] {
            let view = try await bench.call(Methods.getTask, .init(id: id, secrets: masked))
            #expect(view.spec.password == nil && view.response?.headers == [])
        }
        let foreign = await bench.refusal(Methods.getTask, .init(id: id, secrets: true), as: Bench.other)
        #expect(foreign == (await bench.refusal(Methods.getTask, .init(id: id), as: Bench.other)))
        #expect(
            await bench.refusal(Methods.getTask, .init(id: id, secrets: true), as: Bench.root)?.code
                == .permissionDenied)
        #expect(try await bench.call(Methods.getTask, .init(id: id), as: Bench.root).spec.password == nil)
    }

    @Test func listsPageByPageOnlyOnesOwn() async throws {
        let bench = try await Bench()
        let own = try await bench.add(5)
        _ = try await bench.add(2, as: Bench.other)
        var ids: [TaskID] = []
        var cursor: String?
        repeat {
            let page = try await bench.call(Methods.listTasks, .init(cursor: cursor, limit: 2))
            ids += page.tasks.map(\.id)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(ids == own)
        #expect(try await bench.call(Methods.listTasks, .init(order: .newest)).tasks.map(\.id) == own.reversed())
    }

    @Test func administratorsNameOwners() async throws {
        let bench = try await Bench()
        let own = try await bench.add(1)
        let others = try await bench.add(2, as: Bench.other)
        #expect(try await bench.call(Methods.listTasks, .init(), as: Bench.root).tasks.isEmpty)
        let all = try await bench.call(Methods.listTasks, .init(owner: .everyone), as: Bench.root)
        #expect(all.tasks.map(\.id) == own + others)
        let one = try await bench.call(Methods.listTasks, .init(owner: .user(Bench.other.uid)), as: Bench.root)
        #expect(one.tasks.map(\.id) == others)
        #expect(await bench.refusal(Methods.listTasks, .init(owner: .everyone))?.code == .permissionDenied)
        #expect(await bench.refusal(Methods.listTasks, .init(owner: .user(Bench.other.uid)))?.code == .permissionDenied)
        #expect(try await bench.call(Methods.listTasks, .init(owner: .user(Bench.user.uid))).tasks.map(\.id) == own)
    }

    @Test(arguments: [0, -1, 1001])
    func refusesBadPageSizes(_ limit: Int) async throws {
        let bench = try await Bench()
        #expect(await bench.refusal(Methods.listTasks, .init(limit: limit))?.details["field"] == "limit")
        #expect(
            await bench.refusal(Methods.listEvents, .init(after: .start, limit: limit))?.details["field"] == "limit")
    }

    /// In memory, a task takes many times the two bytes that it may have on the wire.
    @Test func refusesMoreTasksThanACallMayAdd() throws {
        func refusal(_ count: Int) -> TransferError? {
            let tasks = repeatElement("{}", count: count).joined(separator: ",")
            do {
                _ = try JSONCoding.decode(AddTasks.self, from: Array(#"{"tasks":[\#(tasks)]}"#.utf8))
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(Bounds.tasks) == nil)
        #expect(refusal(Bounds.tasks + 1)?.code == .tooLarge)
        #expect(refusal(Bounds.tasks + 1)?.details["field"] == "tasks")
    }

    @Test func refusesLongTexts() async throws {
        let bench = try await Bench()
        let match = String(repeating: "x", count: 5000)
        #expect(await bench.refusal(Methods.listTasks, .init(match: match))?.details["field"] == "match")
    }

    @Test func showsLiveFiguresOfRunningTasksOnly() async throws {
        let bench = try await Bench()
        let id = try await bench.add(1)[0]
        bench.supervision.show(Sample.figures(1, received: 77).live, of: id)
        #expect(try await bench.call(Methods.getTask, .init(id: id)).bytesReceived == 0)
        let updated = try await bench.store.write { transaction in
            var status = TaskStatus(state: .running, createdAt: Sample.time)
            status.attempts = 1
            status.startedAt = Sample.time
            return try transaction.update(id, from: .queued, to: status)
        }
        #expect(updated)
        let view = try await bench.call(Methods.getTask, .init(id: id))
        #expect(view.bytesReceived == 77 && view.phase == .transferring)
        #expect(view.explanation == "Its disk does not answer.")
        #expect(try await bench.call(Methods.listTasks, .init()).tasks.first?.bytesReceived == 77)
    }

    @Test func handsOnUpdatesAndResumeData() async throws {
        let bench = try await Bench()
        let id = try await bench.add(1)[0]
        var update = UpdateTask(id: id)
        update.position = .first
        _ = try await bench.call(Methods.updateTask, update)
        #expect(bench.supervision.updates == [update])
        #expect(try await bench.call(Methods.takeResumeData, .init(id: id)).resumeData == "YmxvYg==")
    }

    /// It cannot be read, and is gone when it is read by itself.
    @Test func aTaskThatIsRemovedMeanwhileIsLeftOut() async throws {
        let bench = try await Bench()
        let ids = try await bench.add(3)
        let script = """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1])
            database.execute("UPDATE task SET spec = '{\\"url\\":' WHERE id = 2")
            database.commit()
            """
        try await Program.require(["python3", "-c", script, bench.store.databasePath])
        bench.supervision.remove(ids[1])
        #expect(try await bench.call(Methods.listTasks, .init()).tasks.map(\.id) == [ids[0], ids[2]])
    }
}
