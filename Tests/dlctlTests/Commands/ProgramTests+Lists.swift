import Testing
import TransferModel

@testable import dlctl

extension ProgramTests {
    @Test func aURLThatIsQueuedAlreadyIsSaid() async throws {
        let bench = try await Bench()
        #expect(try await bench.run("add", "https://a/1").error.isEmpty)
        let again = try await bench.run("add", "https://a/2", "https://a/1")
        #expect(again.status == 0 && again.output == "2\n3\n")
        #expect(again.error == "3: this URL is already queued as 1\ndlctl cancel 3 drops the new task again\n")
        #expect(try await bench.run("add", "-q", "https://a/1").error.isEmpty)
        let json = try await bench.run("add", "--json", "https://a/1")
        #expect(JSONText.value(json.output)?["tasks"]?.arrayValue?.first?["duplicateOf"] == 1 && json.error.isEmpty)
        await bench.daemon.stop()
    }

    @Test func whatATokenNamedBeforeIsSaid() async throws {
        let bench = try await Bench()
        #expect(try await bench.run("add", "--client-token", "t", "https://a/1").error.isEmpty)
        let again = try await bench.run("add", "--client-token", "t", "https://a/1")
        #expect(again.output == "1\n" && again.error == "1: added before with this client token; it is queued\n")
        await bench.daemon.stop()
    }

    @Test func listsGoIntoPipesWhole() async throws {
        let bench = try await Bench()
        for id in 1...2100 { bench.daemon.put(Sample.record(Int64(id), id % 2 == 0 ? .completed : .queued)) }
        let whole = try await bench.run("list")
        #expect(whole.status == 0 && whole.lines.count == 2101 && whole.error.isEmpty)
        let some = try await bench.run("list", "-n", "3")
        #expect(some.lines.count == 4)
        #expect(some.error == "… and 2097 more; --limit N shows more, --all shows all\n")
        #expect(try await bench.run("list", "-n3").lines.count == 4, "a value may follow its letter")
        let json = try await bench.run("list", "--json")
        #expect(JSONText.value(json.output)?["tasks"]?.arrayValue?.count == 2100)
        #expect(JSONText.value(json.output)?["total"] == 2100)
        let none = try await bench.run("list", "--json", "--state", "failed")
        #expect(JSONText.value(none.output) == ["tasks": [], "total": 0])
        await bench.daemon.stop()
    }

    @Test func anEmptySocketIsNamed() async throws {
        let bench = try await Bench()
        let outcome = try await bench.run("list", "--socket", "")
        #expect(outcome.status == 2 && outcome.error.contains("--socket: name the path of a socket."), "\(outcome)")
        await bench.daemon.stop()
    }

    /// Programs read refusals of named tasks as those of every other command.
    @Test func aRefusedControlIsAnErrorInJSON() async throws {
        let bench = try await Bench()
        let outcome = try await bench.run("pause", "9999", "--json")
        #expect(outcome.status == 4)
        #expect(JSONText.value(outcome.output)?["skipped"] == [["id": 9999, "code": "task.not_found"]], "\(outcome)")
        let error = JSONText.value(outcome.error)?["error"]
        #expect(error?["code"] == "task.not_found" && error?["message"] == "There is no task 9999.", "\(outcome)")
        #expect(error?["details"] == ["task": 9999])
        await bench.daemon.stop()
    }
}
