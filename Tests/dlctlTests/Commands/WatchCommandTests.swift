import TestSupport
import Testing

@Suite(.serialized, .enabled(if: Program.path != nil, "the dlctl product is built")) struct WatchCommandTests {
    /// Nothing happens to the task, so only the end of the reader can end the follower: before its first line, or after it.
    @Test(
        arguments: [
            ("watch 1", "head -1"), ("wait 1", "head -1"), ("watch", ":"),
            ("events --follow --after start", ":"), ("watch --json 1", ":"),
        ])
    func aFollowerEndsWithItsReader(command: String, reader: String) async throws {
        let bench = try await Bench()
        _ = try await bench.run("add", "https://a/1")
        let status = bench.folder + "/status"
        let script = "{ timeout 30 \"$0\" \(command); echo $? >\"$1\"; } | \(reader)"
        _ = try await TestSupport.Program.run(
            ["sh", "-c", script, Program.path ?? "dlctl", status], environment: bench.environment)
        #expect(try Files.text(status) == "141\n")
        await bench.daemon.stop()
    }
}
