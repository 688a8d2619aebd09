import Foundation
import Testing
import TransferModel

@testable import TransferCore

/// docs/states.md describes what the machine does. With DLD_UPDATE_DOCS=1 in the environment the test rewrites the
/// table.
struct StateDocumentTests {
    private static let start = "<!-- table: checked by StateDocumentTests -->\n"
    private static let end = "\n<!-- end of table -->"

    private var document: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/states.md")
    }

    @Test func tableEqualsTheMachine() throws {
        var text = try String(contentsOf: document, encoding: .utf8)
        let start = try #require(text.range(of: Self.start)?.upperBound)
        let end = try #require(text.range(of: Self.end)?.lowerBound)
        if ProcessInfo.processInfo.environment["DLD_UPDATE_DOCS"] == "1" {
            text.replaceSubrange(start..<end, with: StateTable.markdown)
            try text.write(to: document, atomically: true, encoding: .utf8)
        } else {
            #expect(text[start..<end] == StateTable.markdown)
        }
    }

    @Test func everyEventHasARow() {
        let events: [TaskEvent] = [
            .claimed, StateTable.failed(.disk), .integrityFailed(StateTable.transient.error),
            .completed(TaskResult(bytes: 0, verified: true), duration: 0), .pause, .resume(notBefore: nil),
            .cancel(keepPartial: false), .retry, .retargeted, .preempted(), .daemonRestarted, .conditionCleared,
            .blocked(.retry, nil, nextAttemptAt: nil),
            .asked(.authentication, nil, until: nil, payload: [:]), .deadlinePassed, .resourceTimeoutPassed,
        ]
        #expect(Set(events.map(\.name)) == Set(StateTable.rows.map(\.event.name)))
    }

    @Test func everyWordOfTheModelIsExplained() throws {
        let text = try String(contentsOf: document, encoding: .utf8)
        for state in TaskState.allCases { #expect(text.contains("`\(state.rawValue)`")) }
        for reason in WaitReason.allCases { #expect(text.contains("`\(reason.rawValue)`")) }
        for phase in TaskPhase.allCases { #expect(text.contains("`\(phase.rawValue)`")) }
    }
}
