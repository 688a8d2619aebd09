import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct ConsoleTests {
    @Test func jsonIsStable() throws {
        let result = AddedTasks(tasks: [
            .init(id: TaskID(3), state: .queued), .init(id: TaskID(4), state: .paused),
        ])
        #expect(Console.encode(result) == #"{"tasks":[{"id":3,"state":"queued"},{"id":4,"state":"paused"}]}"#)
        let control = ControlResult(changed: [TaskID(1)], skipped: [.init(id: TaskID(2), code: .taskNotFound)])
        #expect(Console.encode(control) == #"{"changed":[1],"skipped":[{"code":"task.not_found","id":2}]}"#)
        var event = Sample.event(5, .taskResumed, 9, ["offset": 10])
        event.subscription = nil
        #expect(
            Console.encode(event)
                == #"{"offset":10,"owner":1000,"sequence":5,"session":"shared","task":9,"#
                + #""time":"2026-03-10T12:34:56.000Z","type":"task.resumed"}"#)
    }

    @Test func tasksKeepTheWiresNames() throws {
        guard case .object(let members)? = JSONText.value(Console.encode(Sample.view(5))) else {
            Issue.record("not an object")
            return
        }
        for name in [
            "id", "session", "state", "phase", "bytesReceived", "bytesExpected", "rate", "eta", "attempts", "url",
            "destination", "createdAt", "response",
        ] {
            #expect(members[name] != nil, "\(name)")
        }
        let text = Console.encode(Sample.view(5))
        #expect(!text.contains("\n") && !text.contains("\\/"))
        #expect(Console.encode(Sample.view(5)) == text)
    }

    @Test func failuresHaveTheirStatusAndWords() {
        let refusal = CommandFailure.refused(TransferError(.badURL, "no\u{1B}", details: ["field": "tasks[0].url"]))
        #expect(refusal.status == .refused)
        #expect(refusal.message == "refused (request.bad_url): no\u{FFFD}")
        #expect(refusal.value?["error"]?["code"] == "request.bad_url")
        #expect(refusal.value?["error"]?["details"]?["field"] == "tasks[0].url")
        #expect(CommandFailure.usage("x").status == .usage)
        #expect(CommandFailure.noDaemon("x").status == .noDaemon)
        #expect(CommandFailure.taskFailed.status == .failed && CommandFailure.taskFailed.message == nil)
        #expect(CommandFailure.interrupted.status.rawValue == 130)
    }
}
