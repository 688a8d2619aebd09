import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct SessionHandlersTests {
    @Test func opensAttachesAndChanges() async throws {
        let bench = try await Bench()
        var configuration = SessionConfiguration()
        configuration.directory = "/srv"
        configuration.proxy = "http://u:s3cret@proxy"
        let opened = try await bench.call(Methods.openSession, .init(id: "work", configuration: configuration))
        #expect(opened.id == "work" && opened.owner == Bench.user.uid && opened.state == .active)
        #expect(opened.configuration.proxy == "http://proxy")
        let attached = try await bench.call(Methods.openSession, .init(id: "work", kind: .background))
        #expect(attached.configuration.directory == "/srv")
        _ = try await bench.add(2, session: "work")
        let view = try await bench.call(Methods.getSession, .init(id: "work"))
        #expect(view.tasks["queued"] == 2 && view.tasks["failed"] == 0)
    }

    @Test(arguments: ["", "a\nb", "a\u{0}", "a\u{7F}", "a\u{85}", "\u{9B}", String(repeating: "x", count: 256)])
    func refusesBadIdentifiers(_ id: String) async throws {
        let bench = try await Bench()
        #expect(await bench.refusal(Methods.openSession, .init(id: id))?.details["field"] == "id")
    }

    @Test func everyUserHasShared() async throws {
        let bench = try await Bench()
        #expect(try await bench.call(Methods.getSession, .init(id: "shared")).state == .active)
        #expect(try await bench.call(Methods.listSessions, .init()).sessions.map(\.id) == ["shared"])
    }

    @Test func showsOnlyOnesOwnUnlessAnAdministratorAsks() async throws {
        let bench = try await Bench()
        _ = try await bench.call(Methods.openSession, .init(id: "mine"))
        _ = try await bench.call(Methods.openSession, .init(id: "theirs"), as: Bench.other)
        #expect(await bench.refusal(Methods.getSession, .init(id: "theirs"))?.code == .sessionNotFound)
        #expect(try await bench.call(Methods.listSessions, .init()).sessions.map(\.id) == ["mine", "shared"])
        let refusal = await bench.refusal(Methods.getSession, .init(id: "theirs", owner: Bench.other.uid))
        #expect(refusal?.code == .permissionDenied)
        let all = try await bench.call(Methods.listSessions, .init(owner: .everyone), as: Bench.root)
        #expect(all.sessions.map(\.id) == ["mine", "theirs"])
        let one = try await bench.call(Methods.getSession, .init(id: "theirs", owner: Bench.other.uid), as: Bench.root)
        #expect(one.owner == Bench.other.uid)
    }

    @Test func listsPageByPage() async throws {
        let bench = try await Bench()
        for name in ["a", "b.c"] { _ = try await bench.call(Methods.openSession, .init(id: name)) }
        var names: [String] = []
        var cursor: String?
        repeat {
            let page = try await bench.call(Methods.listSessions, .init(cursor: cursor, limit: 1))
            names += page.sessions.map(\.id)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(names == ["a", "b.c", "shared"])
        #expect(await bench.refusal(Methods.listSessions, .init(cursor: "x"))?.details["field"] == "cursor")
        #expect(await bench.refusal(Methods.listSessions, .init(limit: 1001))?.details["field"] == "limit")
        // A cursor says where a page begins, but not whose sessions are listed.
        let other = try await bench.call(Methods.listSessions, .init(cursor: "0."), as: Bench.other)
        #expect(other.sessions.map(\.id) == ["shared"])
    }

    @Test func countsUnacknowledgedFinalEvents() async throws {
        let bench = try await Bench()
        var configuration = SessionConfiguration()
        configuration.subscriber = "app"
        _ = try await bench.call(Methods.openSession, .init(id: "work", configuration: configuration))
        let key = SessionKey(owner: Bench.user.uid, identifier: "work")
        try await bench.store.write { transaction in
            for type in [EventType.taskStarted, .taskCompleted, .taskFailed] {
                try transaction.append(EventRecord(time: Sample.time, type: type, session: key, task: TaskID(1)))
            }
        }
        #expect(try await bench.call(Methods.getSession, .init(id: "work")).unacknowledgedEvents == 2)
    }

    @Test func theSubscriberOfASessionSeesWhatCameAfterItWasOpened() async throws {
        let bench = try await Bench()
        _ = try await bench.add(3)
        var configuration = SessionConfiguration()
        configuration.subscriber = "app"
        _ = try await bench.call(Methods.openSession, .init(id: "work", configuration: configuration))
        let ids = try await bench.add(2, session: "work")
        _ = try await bench.call(Methods.openSession, .init(id: "work"))
        let sink = FakeSink()
        _ = try await bench.call(Methods.subscribe, .init(subscriber: "app", types: [.taskAdded]), on: sink)
        #expect(await sink.events(2).map(\.task) == ids)
    }

    @Test func finishesAndInvalidates() async throws {
        let bench = try await Bench()
        _ = try await bench.call(Methods.openSession, .init(id: "work"))
        #expect(try await bench.call(Methods.finishSession, .init(id: "work")).state == .finishing)
        #expect(try await bench.call(Methods.invalidateSession, .init(id: "work")).state == .invalidated)
        #expect(await bench.refusal(Methods.finishSession, .init(id: "none"))?.code == .sessionNotFound)
    }
}
