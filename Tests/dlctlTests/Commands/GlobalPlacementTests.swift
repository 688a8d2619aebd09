import ArgumentParser
import Testing

@testable import dlctl

@Suite struct GlobalPlacementTests {
    @Test(arguments: [
        (["list"], ["list"]), (["--json", "list"], ["list", "--json"]),
        (["--socket", "/s", "-q", "session", "list", "x"], ["session", "list", "--socket", "/s", "-q", "x"]),
        (["--socket=/s", "ls", "--all"], ["ls", "--socket=/s", "--all"]), (["--json"], []), (["--help"], ["--help"]),
        (["add", "--json", "--", "-x"], ["add", "--json", "--", "-x"]), (["--json", "nope"], ["nope"]),
        (["--json", "add", "--", "-x"], ["add", "--json", "--", "-x"]),
        (["cookies", "--json", "export"], ["cookies", "export", "--json"]), (["-q", "session"], ["session"]),
        (["session", "--socket", "/s", "list", "--json"], ["session", "list", "--socket", "/s", "--json"]),
    ])
    func globalsMayStandInFront(given: [String], moved: [String]) {
        #expect(Dlctl.withGlobalsLast(given) == moved)
    }

    @Test func everyCommandTakesTheGlobalOptions() async throws {
        let samples: [[String]] = [
            ["add", "https://a/"], ["update", "1", "--url", "https://a/"], ["list"], ["show", "1"], ["explain", "1"],
            ["watch"], ["wait", "1"], ["events"], ["pause", "1"], ["resume", "1"], ["cancel", "1"], ["retry", "1"],
            ["remove", "1"], ["session", "open", "x"], ["session", "list"], ["session", "show", "x"],
            ["session", "set", "x", "a=b"], ["session", "finish", "x"], ["session", "invalidate", "x"], ["limit"],
            ["settings"], ["stats"], ["info"],
        ]
        for sample in samples {
            let command = try await Dlctl.asyncParseAsRoot(sample + ["--json", "-q", "--no-start", "--socket", "/s"])
            let global = try #require((command as? any DaemonCommand)?.global, "\(sample)")
            #expect(global.json && global.quiet && global.noStart && global.socket == "/s")
        }
    }

    @Test(arguments: [
        ["add"], ["add", "-u", "x", "--password-stdin", "-i", "-"], ["add", "--password-stdin", "https://a/"],
        ["add", "-H", "nope", "https://a/"], ["add", "--limit", "fast", "https://a/"],
        ["add", "--retry", "-1", "https://a/"],
        ["add", "--at", "never", "https://a/"], ["add", "--on-conflict", "ask", "https://a/"], ["wait"],
        ["wait", "1", "--all"],
        ["pause"], ["cancel", "--all", "--resume-data", "f"], ["show", "x"], ["show", "0"], ["show", "3-1"],
        ["show", "3-"],
        ["show", "1-2-3"], ["show"], ["list", "1", "--all"], ["update", "1-2", "-o", "f"],
        ["update", "1", "-o", "-"], ["cancel", "1-2", "--resume-data", "f"], ["events", "--task", "1-99999"],
        ["update", "1"],
        ["list", "--state", "asleep"], ["events", "--after", "-5"], ["events", "--forget"],
        ["session"], ["upload"], ["upload", "https://a/"], ["upload", "--field", "nope", "f", "https://a/"],
        ["upload", "--send-checksum", "crc", "f", "https://a/"], ["fetch"], ["fetch", "https://a/", "https://b/"],
    ])
    func wrongUsesAreRefused(words: [String]) async {
        await #expect(throws: (any Error).self) {
            var command = try await Dlctl.asyncParseAsRoot(words)
            // A group of commands without a command parses, and prints help when it runs.
            if !(command is any DaemonCommand) { try command.run() }
        }
    }
}
