import Testing
import TransferModel
import TransferRPC

@testable import dlctl

/// Commands that the user copies reach the daemon that gave them.
@Suite struct AskerTests {
    @Test(arguments: [
        ([], "dlctl"), (["--system"], "dlctl --system"), (["--socket", "/run/a b/s"], "dlctl --socket '/run/a b/s'"),
        (["--socket", "/s", "--system"], "dlctl --socket /s --system"),
    ])
    func aCommandNamesTheDaemonAsTheUserDid(arguments: [String], program: String) throws {
        let asker = CommandSession(try GlobalOptions.parse(arguments), environment: [:]).asker
        #expect(asker.command("dlctl retry 7") == program + " retry 7")
        #expect(asker.command("findmnt --target DIR") == "findmnt --target DIR")
    }

    private let asker = Asker(program: "dlctl --system")

    private func commands(_ lines: [StyledText]) -> [String] {
        lines.map(\.plain).filter { $0.contains("dlctl ") }.map { String($0.drop { $0 == " " }) }
    }

    @Test func showAndExplainDoSo() {
        var view = Sample.view(7, .failed)
        view.error = TransferError(.httpStatus, "404 Not Found")
        let told = ["dlctl --system update 7 --url URL", "dlctl --system retry 7"]
        #expect(commands(TaskSheet.render(TaskSummary(view, events: [], for: asker, now: Sample.now))) == told)
        #expect(commands(Explanation.render(TaskSummary(view, events: [], for: asker, now: Sample.now))) == told)
        #expect(asker.command(Advice("Do:", "dlctl retry 7")).text == "Do: dlctl --system retry 7")
    }

    @Test func questionsAndRemarksDoSo() {
        let record = DecisionRecord(
            id: DecisionID(3), task: TaskID(12), session: .shared(of: UserID(1000)), state: .open,
            question: Question(.begin, default: .wait), askedAt: Sample.now, answer: nil, settled: SettledDecisions())
        let lines = commands(DecisionLines.render(DecisionView(record), of: "f", for: asker, now: Sample.now))
        #expect(!lines.isEmpty && lines.allSatisfy { $0.hasPrefix("dlctl --system answer 3 ") }, "\(lines)")
        var added = AddedTask(id: TaskID(8), state: .queued)
        added.duplicateOf = TaskID(7)
        #expect([added].doubles(for: asker).last == "dlctl --system cancel 8 drops the new task again")
    }
}
