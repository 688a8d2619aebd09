import TestSupport
import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct VolatileSessionsTests {
    private let mine = FakeSink(id: 7)
    private let others = FakeSink(id: 8)

    @Test func aSessionIsBoundToItsConnection() async throws {
        let bench = try await Bench()
        let opened = try await bench.call(Methods.openSession, .init(id: "v", kind: .ephemeral), on: mine)
        #expect(opened.kind == .ephemeral)
        #expect(try await bench.call(Methods.getSession, .init(id: "v"), on: mine).kind == .ephemeral)
        for refusal in [
            await bench.refusal(Methods.openSession, .init(id: "v"), on: others),
            await bench.refusal(Methods.getSession, .init(id: "v"), on: others),
            await bench.refusal(Methods.pauseSession, .init(id: "v"), on: others),
            await bench.refusal(Methods.finishSession, .init(id: "v"), on: others),
            await bench.refusal(Methods.listTasks, .init(session: "v"), on: others),
        ] { #expect(refusal?.code == .sessionInUse) }
        // Another user's sessions have their own names.
        let durable = try await bench.call(Methods.openSession, .init(id: "v"), as: Bench.other, on: others)
        #expect(durable.kind == .background)
        #expect(
            try await bench.store.read { try $0.session(SessionKey(owner: Bench.user.uid, identifier: "v")) } == nil)
    }

    @Test func eventsGoToTheConnectionOfTheirSession() async throws {
        let bench = try await Bench()
        for sink in [mine, others] {
            _ = try await bench.call(Methods.subscribe, .init(after: .now, progressInterval: 0), on: sink)
        }
        _ = try await bench.call(Methods.openSession, .init(id: "v", kind: .default), on: mine)
        let key = SessionKey(owner: Bench.user.uid, identifier: "v")
        bench.feed.committedVolatile([
            EventRecord(time: Sample.time, type: .taskAdded, session: key, task: .firstVolatile)
        ])
        let events = await mine.events(1)
        #expect(events.map(\.task) == [.firstVolatile] && events[0].sequence == nil)
        #expect(others.count == 0)
    }

    @Test func namesOfDurableSessionsAreTaken() async throws {
        let bench = try await Bench()
        _ = try await bench.call(Methods.openSession, .init(id: "b"))
        for id in ["b", "shared"] {
            let refusal = await bench.refusal(Methods.openSession, .init(id: id, kind: .default), on: mine)
            #expect(refusal?.code == .badField && refusal?.details["field"] == "kind")
        }
        var configuration = SessionConfiguration()
        configuration.subscriber = "app"
        let refusal = await bench.refusal(
            Methods.openSession, .init(id: "v", kind: .default, configuration: configuration), on: mine)
        #expect(refusal?.details["field"] == "configuration.subscriber")
    }

    /// Whatever the user's other connections have opened.
    @Test func aConnectionIsToldOfItsOwnSessionsQuestions() async throws {
        let bench = try await Bench()
        for (id, sink) in [("v", mine), ("w", mine), ("x", others)] {
            _ = try await bench.call(Methods.openSession, .init(id: id, kind: .default), on: sink)
        }
        _ = try await bench.call(Methods.listDecisions, .init(), on: mine)
        #expect(bench.volatile.listed.last.map(Set.init) == ["v", "w"])
        _ = try await bench.call(Methods.listDecisions, .init(session: "w"), on: mine)
        #expect(bench.volatile.listed.last == ["w"])
        #expect(await bench.refusal(Methods.listDecisions, .init(session: "x"), on: mine)?.code == .sessionInUse)
        #expect(bench.volatile.listed.count == 2)
    }

    /// Whether it is opened or changed, and whether or not it names its kind again.
    @Test func anEphemeralSessionHasNoCookiesOnTheDisk() async throws {
        let bench = try await Bench()
        var shared = SessionConfiguration()
        shared.httpCookieStorage = .shared
        func refusal(_ id: String, _ kind: SessionKind?) async -> TransferError? {
            await bench.refusal(Methods.openSession, .init(id: id, kind: kind, configuration: shared), on: mine)
        }
        #expect(await refusal("e", .ephemeral)?.details["field"] == "configuration.httpCookieStorage")
        _ = try await bench.call(Methods.openSession, .init(id: "e", kind: .ephemeral), on: mine)
        #expect(await refusal("e", nil)?.code == .badField)
        #expect(await refusal("d", .default) == nil)
    }

    @Test func aNameIsFreeWhenItsConnectionIsGone() async throws {
        let bench = try await Bench()
        _ = try await bench.call(Methods.openSession, .init(id: "v", kind: .default), on: mine)
        bench.sessions.closed(mine.id)
        #expect(
            await eventually {
                await bench.refusal(Methods.openSession, .init(id: "v", kind: .ephemeral), on: others) == nil
            })
        #expect(bench.volatile.controls.contains { $0.0 == .remove(deleteFile: false) })
    }

    /// Tasks of an ended session are forgotten without events.
    @Test func streamsEndWithTheirSession() async throws {
        let bench = try await Bench()
        let streams = bench.sessions.streams
        let key = SessionKey(owner: Bench.user.uid, identifier: "v")
        var spec = TaskSpec()
        spec.stream = true
        _ = try await bench.call(Methods.openSession, .init(id: "v", kind: .default), on: mine)
        #expect(streams.stream(of: .firstVolatile, spec, in: key) != nil && streams.count == 1)
        bench.sessions.closed(mine.id)
        #expect(streams.stream(of: TaskID(TaskID.firstVolatile.rawValue + 1), spec, in: key) == nil)
        #expect(await eventually { streams.count == 0 })
    }

    /// Whoever opens the name while its session ends waits for that, and is not refused.
    @Test func whoComesWhileASessionEndsWaits() async throws {
        let bench = try await Bench()
        _ = try await bench.call(Methods.openSession, .init(id: "v", kind: .default), on: mine)
        for _ in 0..<20 {
            bench.sessions.closed(mine.id)
            #expect(await bench.refusal(Methods.openSession, .init(id: "v", kind: .ephemeral), on: others) == nil)
            bench.sessions.closed(others.id)
            #expect(await bench.refusal(Methods.openSession, .init(id: "v", kind: .default), on: mine) == nil)
        }
    }

    @Test func theConnectionsSessionsComeLast() async throws {
        let bench = try await Bench()
        for id in ["a", "z"] { _ = try await bench.call(Methods.openSession, .init(id: id)) }
        for (id, sink) in [("w", mine), ("v", mine), ("x", others)] {
            _ = try await bench.call(Methods.openSession, .init(id: id, kind: .default), on: sink)
        }
        for limit in 1...6 {
            var found: [String] = []
            var cursor: String?
            repeat {
                let page = try await bench.call(Methods.listSessions, .init(cursor: cursor, limit: limit), on: mine)
                #expect(page.sessions.count <= limit && !page.sessions.isEmpty)
                found += page.sessions.map(\.id)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(found == ["a", "shared", "z", "v", "w"], "\(limit)")
        }
        let root = try await bench.call(
            Methods.listSessions, .init(owner: .user(Bench.user.uid)), as: Bench.root, on: mine)
        #expect(root.sessions.map(\.id) == ["a", "shared", "z"])
    }
}
