import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct DaemonHandlersTests {
    @Test func saysWhatItIs() async throws {
        let bench = try await Bench()
        let info = try await bench.call(DaemonInfo.self, .init())
        #expect(info.name == "dld" && info.version == "9.9" && info.protocol == 1 && info.mode == .system)
        #expect(info.stateDirectory == bench.folder && info.features.contains("durableSubscribers"))
        #expect(info.features.contains("upload.tus") && !info.features.contains("cache"))
    }

    @Test func countsOnesOwnTasks() async throws {
        let bench = try await Bench()
        _ = try await bench.add(2)
        _ = try await bench.add(3, as: Bench.other)
        bench.supervisor.setProgress([Sample.figures(1)])
        let own = try await bench.call(DaemonStats.self, .init())
        #expect(own.tasks["queued"] == 2 && own.tasks["completed"] == 0 && own.activeTransfers == 1)
        #expect(own.downloadRate == 500 && own.bytesReceived == 1_000_000 && own.connections == 3)
        #expect(own.head == SequenceNumber(5) && own.memory > .mebibytes(1) && own.uptime >= 0)
        #expect(try await bench.call(DaemonStats.self, .init(), as: Bench.root).tasks["queued"] == 5)
    }

    @Test func discoversItself() async throws {
        let bench = try await Bench()
        let document = try await bench.call(Discover.self, .init())
        #expect(document.info["version"] == "9.9")
        #expect(document.methods.arrayValue?.count == allMethods.count)
    }
}
