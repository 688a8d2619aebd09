import TestSupport
import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct DaemonHandlersTests {
    @Test func saysWhatItIs() async throws {
        let bench = try await Bench()
        let info = try await bench.call(Methods.daemonInfo, .init())
        #expect(info.name == "dld" && info.version == "9.9" && info.protocol == 1 && info.mode == .system)
        #expect(info.stateDirectory == bench.folder && info.features.contains("durableSubscribers"))
        #expect(info.features.contains("upload.tus") && info.features.contains("cache"))
        #expect(info.administrator == false)
        #expect(try await bench.call(Methods.daemonInfo, .init(), as: Bench.root).administrator == true)
    }

    @Test func countsOnesOwnTasks() async throws {
        let bench = try await Bench()
        _ = try await bench.add(2)
        _ = try await bench.add(3, as: Bench.other)
        bench.supervision.setProgress([Sample.figures(1)])
        let own = try await bench.call(Methods.daemonStats, .init())
        #expect(own.tasks["queued"] == 2 && own.tasks["completed"] == 0 && own.activeTransfers == 1)
        #expect(own.downloadRate == 500 && own.bytesReceived == 1_000_000 && own.connections == 3)
        #expect(own.head == SequenceNumber(5) && own.memory > .mebibytes(1) && own.uptime >= 0)
        #expect(try await bench.call(Methods.daemonStats, .init(), as: Bench.root).tasks["queued"] == 5)
    }

    @Test func measuresOnesOwnTasks() async throws {
        let bench = try await Bench()
        _ = try await bench.add(2)
        _ = try await bench.add(3, as: Bench.other)
        let sink = FakeSink(id: 9)
        _ = try await bench.call(Methods.openSession, .init(id: "v", kind: .default), on: sink)
        var spec = TaskSpec()
        (spec.url, spec.kind, spec.startPaused) = ("https://example.org/f", .data, true)
        _ = try await bench.call(Methods.addTasks, .init(session: "v", tasks: [spec]), on: sink)
        let pairs = TaskState.allCases.count * TaskKind.allCases.count
        for (peer, client, downloads, data) in [
            (Bench.user, FakeSink(), 2, 0), (Bench.user, sink, 2, 1), (Bench.root, FakeSink(), 5, 0),
        ] {
            let metrics = try await bench.call(Methods.daemonMetrics, .init(), as: peer, on: client)
            let names = Set(metrics.tasks.map { "\($0.state) \($0.kind)" })
            #expect(names.count == pairs && metrics.tasks.count == pairs)
            let wanted = [
                DaemonMetrics.Group(state: .queued, kind: .download, count: downloads),
                DaemonMetrics.Group(state: .paused, kind: .data, count: data),
            ]
            #expect(metrics.tasks.filter { $0.count > 0 } == wanted.filter { $0.count > 0 })
            #expect(Set(metrics.waiting.keys) == Set(WaitReason.allCases.map(\.rawValue)))
            let commits = metrics.storeCommits
            #expect(commits.count >= 2 && commits.sum > 0)
            #expect(commits.buckets.count == 13 && commits.buckets.last?.count == commits.count)
            #expect(metrics.responses == ["1xx": 0, "2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0])
            #expect(metrics.finished.isEmpty && metrics.subscriberLag == 0)
            let (time, descriptors) = (metrics.cpuTime ?? 0, metrics.openDescriptors ?? 0)
            #expect(time > 0 && descriptors > 3)
        }
    }

    @Test func waitingTasksAreCountedByReason() async throws {
        let bench = try await Bench()
        let own = try await bench.add(3)
        let others = try await bench.add(1, as: Bench.other)
        try await bench.store.write { transaction in
            for (id, reason) in [(own[0], WaitReason.disk), (own[1], .disk), (own[2], .retry), (others[0], .disk)] {
                guard var status = try transaction.status(of: id) else { continue }
                (status.state, status.reason) = (.waiting, reason)
                _ = try transaction.update(id, from: .queued, to: status)
            }
        }
        let (mine, all) = (
            try await bench.call(Methods.daemonMetrics, .init()),
            try await bench.call(Methods.daemonMetrics, .init(), as: Bench.root)
        )
        #expect(mine.waiting["disk"] == 2 && mine.waiting["retry"] == 1 && mine.waiting["network"] == 0)
        #expect(all.waiting["disk"] == 3)
    }

    @Test func discoversItself() async throws {
        let bench = try await Bench()
        let document = try await bench.call(Methods.discover, .init())
        #expect(document.info["version"] == "9.9")
        #expect(document.methods.arrayValue?.count == Methods.all.count)
    }

    /// Only some requests meet the damage, so `daemon.info` reports it.
    @Test func saysThatItsDatabaseIsDamaged() async throws {
        let bench = try await Bench()
        #expect(try await bench.call(Methods.daemonInfo, .init()).damage == nil)
        let file = bench.store.databasePath
        _ = try await bench.add(1)
        let script = """
            import os, sqlite3, sys
            path = sys.argv[1]
            database = sqlite3.connect(path)
            root = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'setting'").fetchone()[0]
            size = database.execute("PRAGMA page_size").fetchone()[0]
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.close()
            with open(path, "r+b") as file:
                file.seek((root - 1) * size)
                file.write(b"\\xa5" * size)
            """
        try await Program.require(["python3", "-c", script, file])
        await #expect(throws: TransferError.self) { try await bench.store.read { try $0.settings() } }
        let (info, stats) = (
            try await bench.call(Methods.daemonInfo, .init()), try await bench.call(Methods.daemonStats, .init())
        )
        #expect(info.damage?.contains("\(file) is damaged") == true && stats.damage == info.damage)
    }
}
