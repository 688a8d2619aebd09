import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

/// Hosts that fail and come back, and a store that fails.
extension DispatcherTests {
    @Test func aHostThatFailsIsProbedByOneTaskAtATime() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "dead", count: 6))
        let stage = DispatcherStage(fixture)
        for task in tasks.prefix(5) {
            stage.report(.failed, host: task.host, task: TaskID(task.id.rawValue + 100))
        }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.isEmpty)
        let probe = try #require(stage.dispatcher.nextLook())
        #expect(probe > fixture.time.reading().boot)
        fixture.time.advance(3600)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 1)
    }

    /// While the host was held, its tasks were in lanes that are not read, so the store seemed to have none.
    @Test func aHostThatAnswersItsProbeGetsItsTasksBack() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "back", count: 4))
        let stage = DispatcherStage(fixture)
        let probe = try await stage.probe(tasks, fixture)
        stage.report(.answered, host: probe.host, task: probe.id)
        stage.runs.remove(try #require(stage.runs[probe.id]))
        await stage.dispatcher.fillSlots(isChange: false)
        #expect(Set(stage.startedIDs) == Set(tasks.map(\.id)))
    }

    /// The probe may be a transfer of several hours.
    @Test func aHostThatAnswersItsProbeGetsItsTasksBackBeforeTheProbeEnds() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "back", count: 4))
        let stage = DispatcherStage(fixture)
        let probe = try await stage.probe(tasks, fixture)
        stage.gates.report(.answered, host: probe.host, owner: fixture.key.owner, task: probe.id, startedAt: 0)
        #expect(stage.isQueueChanged)
        await stage.dispatcher.fillSlots()
        #expect(Set(stage.startedIDs) == Set(tasks.map(\.id)))
    }

    /// Answers arrive while the dispatcher stores which tasks it starts. What was admitted before adds nothing to the hold
    /// that the host asks for then.
    @Test(arguments: [HostGates.Report.throttled(retryAfter: 2), .failed])
    func aHoldThatComesWhileTasksAreClaimedBeginsWithTheAnswer(_ report: HostGates.Report) async throws {
        let fixture = try SupervisionFixture()
        let stage = DispatcherStage(fixture)
        fixture.store.onCommit { events in
            guard events.contains(where: { $0.type == .taskStarted }) else { return }
            for task in 100..<105 { stage.report(report, host: "https://busy:443", task: TaskID(Int64(task))) }
        }
        _ = try await fixture.add(hosts: Array(repeating: "busy", count: 8))
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 6)
        let hold: Int64 = report == .failed ? 5000 : 2000
        #expect(stage.dispatcher.nextLook() == fixture.time.reading().boot + hold)
    }

    /// While the database is set aside, the store can be read but not written.
    private func setDatabaseAside(_ fixture: SupervisionFixture) throws {
        let path = fixture.store.folderPath + "/dld.sqlite"
        try #require(rename(path, path + ".aside") == 0)
    }

    private func putDatabaseBack(_ fixture: SupervisionFixture) throws {
        let path = fixture.store.folderPath + "/dld.sqlite"
        try #require(rename(path + ".aside", path) == 0)
    }

    /// What can be read has none of their tasks, so nothing fails, and perhaps nothing else will ever happen.
    @Test func hostsThatCannotBeReleasedAreReleasedLater() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "back", count: 4))
        let stage = DispatcherStage(fixture)
        let probe = try await stage.probe(tasks, fixture)
        stage.report(.answered, host: probe.host, task: probe.id)
        stage.runs.remove(try #require(stage.runs[probe.id]))
        let key = fixture.key
        _ = stage.hasNewLook
        try setDatabaseAside(fixture)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [probe.id])
        #expect(stage.dispatcher.nextLook() == fixture.time.reading().boot + 5000)
        #expect(stage.hasNewLook)
        #expect(try await fixture.store.read { try $0.counts(session: key)[.queued] } == 3)
        try putDatabaseBack(fixture)
        fixture.time.advance(5)
        await stage.dispatcher.fillSlots()
        #expect(Set(stage.startedIDs) == Set(tasks.map(\.id)))
        #expect(stage.dispatcher.nextLook() == nil)
    }

    @Test func marksThatCannotBeForgottenAreForgottenLater() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        try await holdAllLanes(fixture)
        let stage = DispatcherStage(fixture)
        try setDatabaseAside(fixture)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.isEmpty)
        #expect(stage.dispatcher.nextLook() == fixture.time.reading().boot + 5000)
        #expect(stage.hasNewLook)
        try putDatabaseBack(fixture)
        fixture.time.advance(5)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [task.id])
    }

    /// A claim that the store could not store is made again, although nothing else ever happens.
    @Test func aStoreThatFailsIsAskedAgain() async throws {
        let fixture = try SupervisionFixture()
        _ = try await fixture.add(hosts: ["a"])
        let stage = DispatcherStage(fixture)
        #expect(stage.dispatcher.nextLook() == nil)
        fixture.store.close()
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.isEmpty)
        let first = try #require(stage.dispatcher.nextLook())
        #expect(first > fixture.time.reading().boot)
        #expect(stage.hasNewLook)
        // It fails again: the new time must be reported.
        fixture.time.advance(10)
        await stage.dispatcher.fillSlots()
        #expect(try #require(stage.dispatcher.nextLook()) == first + 10_000)
        #expect(stage.hasNewLook)
    }
}
