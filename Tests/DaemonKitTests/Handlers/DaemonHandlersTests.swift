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
