import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling.Helpers {
    @Test(.timeLimit(.minutes(1)), arguments: kinds)
    func aChallengeIsAnsweredOrAsked(_ kind: String) async throws {
        let bench = try await HelperScene(kind)
        let right: [String: JSONValue] = ["username": "anna", "password": "right"]
        let own = try await bench.add(kind, ["do": "challenge"], to: "own", right)
        try await bench.probe.wait(for: own, "completed")
        #expect(bench.hasArrived("own") && bench.loads.count == 1)
        let wrong = try await bench.add(
            kind, ["do": "challenge"], to: "wrong", ["username": "anna", "password": "no"])
        #expect(try await bench.probe.wait(for: wrong, "failed").errorCode == "auth.required")
        let none = try await bench.add(kind, ["do": "challenge"], to: "none")
        #expect(try await bench.probe.wait(for: none, "failed").errorCode == "auth.required")

        try await bench.scene.openAsking(["challenge"])
        let asked = try await bench.add(kind, ["do": "challenge"], to: "asked", session: "s")
        let question = try await bench.scene.question(asked)
        #expect(
            question["protectionSpace", "realm"] == "demo"
                && question["protectionSpace", "protocol"] == .string(kind))
        try await bench.scene.answer(question, "useCredential", ["credential": .object(right)])
        try await bench.probe.wait(for: asked, "completed")
        #expect(bench.hasArrived("asked"))
    }

    /// The helper hears of it, and goes on without credentials if it can. Its second challenge is final.
    @Test(.timeLimit(.minutes(1)), arguments: kinds)
    func aHelperIsToldThatThereAreNoCredentials(_ kind: String) async throws {
        let bench = try await HelperScene(kind)
        try await bench.scene.openAsking(["challenge"])
        for (word, end) in [("optional", "completed"), ("challenge", "failed")] {
            let id = try await bench.add(kind, ["do": word], to: word, session: "s")
            try await bench.scene.answer(try await bench.scene.question(id), "rejectProtectionSpace")
            let task = try await bench.probe.wait(for: id, end)
            #expect(task.errorCode == (end == "failed" ? "auth.required" : nil), "\(task)")
            #expect(task["attempts"] == 2, "\(task)")
        }
        #expect(bench.hasArrived("optional"))
        let answers = bench.notes.filter { $0["type"] == "answer" }
        #expect(answers.map { $0["decision"] } == ["rejectProtectionSpace", "rejectProtectionSpace"], "\(answers)")
    }
}
