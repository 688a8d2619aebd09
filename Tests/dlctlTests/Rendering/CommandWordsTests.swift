import Testing
import TransferModel

@testable import dlctl

@Suite struct CommandWordsTests {
    @Test(arguments: [
        ("Then task.retry.", "Then dlctl retry 7."),
        ("Change it (task.update), then task.retry.", "Change it (dlctl update 7), then dlctl retry 7."),
        ("put it into its URL (task.update, proxy), or", "put it into its URL (dlctl update 7 --proxy URL), or"),
        ("name it (task.update, caFile).", "name it (dlctl update 7 --ca-file FILE)."),
        ("task.update sets a later deadlineAt", "dlctl update 7 sets a later --deadline"),
        ("see tlsMinimumVersion.", "see --tls-min."),
        ("answer (decision.list, decision.answer).", "answer (dlctl decisions, dlctl answer)."),
        ("example.org answered 1.5 … (a, b).", "example.org answered 1.5 … (a, b)."),
        ("proxy and url stay", "proxy and url stay"),
        ("/home/rateLimit/fileName and deadlineAt/x", "/home/rateLimit/fileName and deadlineAt/x"),
    ])
    func methodsAndFieldsAreCommandsAndOptions(_ sentence: String, _ expected: String) {
        #expect(CommandWords.text(sentence, task: TaskID(7)) == expected)
    }

    @Test func timesAreThoseOfTables() {
        let time = Timestamp(milliseconds: 1_800_000_000_123)
        for (end, word) in [("", "at"), (".", "at"), (").", "(at")] {
            #expect(
                CommandWords.text("\(word) \(time)\(end) Then Z.") == "\(word) \(LocalTime.text(time))\(end) Then Z.")
        }
        #expect(CommandWords.text("x\(time) in /d/\(time)") == "x\(time) in /d/\(time)")
        // The daemon writes milliseconds; a file may have a name without.
        #expect(CommandWords.text("/a/db 2026-01-31T08:00:00Z exists") == "/a/db 2026-01-31T08:00:00Z exists")
    }

    @Test(arguments: [
        ("tasks[0].url", "URL"), ("tasks[12].mirrors[3]", "--mirror"), ("tasks[0].destination.path", "-o"),
        ("destination", "-d"), ("tasks[0].retry.attempts", "--retry"), ("tasks[0].clientCertificate.key", "--cert"),
        ("configuration.retry.attempts", "retry.attempts"), ("id", "the session's name"), ("unheardOf", "unheardOf"),
        ("tasks[0]", ""), ("tasks[0].unheardOf", "unheardOf"), ("tasks[0].netrc", "the netrc file"),
    ])
    func fieldsAreArguments(_ path: String, _ argument: String) {
        #expect(CommandWords.argument(path) == argument)
    }

    @Test func refusalsNameTheArgument() {
        func refusal(_ field: String, _ message: String) -> String {
            CommandWords.refusal(TransferError(.badField, message, details: ["field": .string(field)]))
        }
        #expect(refusal("tasks[0].url", "tasks[0].url: The URL is refused: no.") == "The URL is refused: no.")
        #expect(refusal("tasks[0].mirrors[1]", "tasks[0].mirrors[1]: no.") == "--mirror: no.")
        #expect(refusal("tasks[0]", "tasks[0]: it has nothing to send.") == "it has nothing to send.")
        #expect(refusal("limit", "No more.") == "No more.")
        // The place in the request means nothing to a user of the command line, whatever the details name.
        #expect(refusal("destination", "tasks[0]: no.") == "no.")
        #expect(refusal("tasks", "tasks[0].destination.path: no.") == "-o: no.")
        #expect(CommandWords.refusal(TransferError(.limitReached, "tasks[0]: No: more.")) == "No: more.")
        let error = TransferError(.badURL, "tasks[3].url: no.", details: ["field": "tasks[3].url"])
        #expect(CommandWords.taskIndex(error) == 3)
        #expect(CommandWords.refusal(error, about: "task 4 of 9, f") == "task 4 of 9, f: no.")
    }
}
