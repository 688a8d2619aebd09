import Testing
import TransferModel

@testable import dlctl

@Suite(.serialized, .enabled(if: Program.path != nil, "the dlctl product is built")) struct WaitCommandTests {
    /// The exit status differs from that for failed tasks, and programs can read the reason.
    @Test func aLimitHasItsStatus() async throws {
        let bench = try await Bench()
        _ = try await bench.run("add", "https://a/1")
        let outcome = try await bench.run("wait", "1", "--timeout", "0.1")
        #expect(outcome.status == 5 && outcome.output == "1 1: queued\n", "\(outcome)")
        #expect(outcome.error == "dlctl: 1 task did not end within 0s; it continues in the daemon\n")
        let json = try await bench.run("wait", "1", "--timeout", "0.1", "--json")
        #expect(json.status == 5 && json.output.isEmpty, "\(json)")
        #expect(JSONText.value(json.error)?["error"]?["code"] == "timeout")
        try bench.daemon.happen(.taskCompleted, TaskID(1), ["bytes": 5]) { $0.status.state = .completed }
        #expect(try await bench.run("wait", "1", "--timeout", "1h").status == 0)
        #expect(try await bench.run("wait", "1", "--timeout", "soon").status == 2)
        await bench.daemon.stop()
    }
}
