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

    /// A paused task ends only after somebody has resumed it: the user learns that, and how.
    @Test func aPausedTaskIsNamed() async throws {
        let bench = try await Bench()
        _ = try await bench.run("add", "https://a/1")
        _ = try await bench.run("add", "https://a/2")
        _ = try await bench.run("pause", "1")
        let one = try await bench.run("wait", "1", "--timeout", "0.1")
        #expect(one.status == 5 && one.output == "1 1: paused; to resume it: dlctl resume 1\n", "\(one)")
        #expect(
            one.error == "dlctl: 1 task did not end within 0s; it is paused (to resume it: dlctl resume 1)\n")
        let json = try await bench.run("wait", "1", "--timeout", "0.1", "--json")
        #expect(json.output.isEmpty && json.error.contains("1 1: paused; to resume it: dlctl resume 1"), "\(json)")
        let both = try await bench.run("wait", "1", "2", "--timeout", "0.1")
        #expect(
            both.error == "dlctl: 2 tasks did not end within 0s; 1 continues in the daemon, "
                + "1 is paused (to resume it: dlctl resume 1)\n")
        let program = try bench.start("wait", "1")
        #expect(await program.waitForOutput("paused"))
        try bench.daemon.happen(.taskCompleted, TaskID(1), ["bytes": 5]) { $0.status.state = .completed }
        #expect(await program.finish().status == 0)
        await bench.daemon.stop()
    }
}
