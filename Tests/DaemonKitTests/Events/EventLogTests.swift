import DaemonKit
import Foundation
import Logging
import TestSupport
import Testing
import TransferModel
import TransferRPC
import TransferStore

/// The feed with the real store.
@Suite(.timeLimit(.minutes(4)))
struct EventLogTests {
    @Test func eventsOfCommitsReachSubscribersInOrder() async throws {
        let folder = try TemporaryFolder()
        let store = try TransferStore(folder: folder.path)
        var limits = EventFeed.Limits()
        limits.tail = 20
        limits.page = 10
        let feed = EventFeed(
            log: store, limits: limits, progress: { [] }, progressInterval: { 1 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        store.onCommit(feed.committed)
        try await feed.start()
        let append: @Sendable (Int) async throws -> Void = { count in
            try await store.write { transaction in
                for _ in 0..<count {
                    try transaction.append(
                        EventRecord(time: Sample.time, type: .taskAdded, session: Sample.session, task: TaskID(1)))
                }
            }
        }
        try await append(100)
        let early = FakeSink(id: 1)
        let late = FakeSink(id: 2)
        _ = try await feed.follow(early)
        _ = try await feed.follow(late, after: .start, subscriber: "late")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { try await append(4) } }
            try await group.waitForAll()
        }
        #expect(await early.events(200).map { $0.sequence?.rawValue ?? 0 } == Array(101...300))
        #expect(await late.events(300).map { $0.sequence?.rawValue ?? 0 } == Array(1...300))
        #expect(try await store.acknowledged("late", owner: Sample.user) == .zero)
        feed.stop()
        store.close()
    }
}
