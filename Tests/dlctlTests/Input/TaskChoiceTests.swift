import Testing
import TransferModel

@testable import dlctl

@Suite struct TaskChoiceTests {
    private func choice(_ words: String...) -> TaskChoice {
        TaskChoice(words.compactMap { TaskArgument(argument: $0) })
    }
    private func range(_ first: Int64, _ last: Int64) -> ClosedRange<TaskID> { TaskID(first)...TaskID(last) }

    @Test func rangesAreTwoIDs() {
        #expect(TaskArgument(argument: "3-7")?.ids == range(3, 7))
        #expect(TaskArgument(argument: "5-5")?.isRange == true && TaskArgument(argument: "5")?.isRange == false)
        for wrong in ["", "-", "3-", "-7", "7-3", "0-3", "1-2-3", "x", "3-x", "99999999999999999999"] {
            #expect(TaskArgument(argument: wrong) == nil, "\(wrong)")
        }
    }

    @Test func eachTaskIsNamedOnce() {
        #expect(
            choice("9", "3-5", "4", "9", "5-7", "1").pieces == [
                .task(TaskID(9)), .range(range(3, 7)), .task(TaskID(1)),
            ])
        #expect(choice("7").single == TaskID(7) && choice("7-7").single == nil && choice("7", "8").single == nil)
    }

    @Test func manyIDsAreNotWrittenOut() {
        #expect(choice("2", "4-6").allIDs(atMost: 4) == [2, 4, 5, 6].map { TaskID($0) })
        #expect(choice("2", "4-6").allIDs(atMost: 3) == nil)
        #expect(choice("1-9223372036854775807").allIDs(atMost: 10_000) == nil)
    }

    @Test func whatIsMissingIsToldInRanges() {
        let found = TaskRanges([9, 4, 5, 6].map { TaskID($0) })
        #expect(found.text == "4-6, 9")
        #expect(found.gaps(in: range(1, 12)).text == "1-3, 7-8, 10-12")
        #expect(found.gaps(in: range(4, 6)).isEmpty && found.gaps(in: range(5, 9)).text == "7-8")
        #expect(found.gaps(in: range(10, .max)).text == "10-9223372036854775807")
        #expect(TaskRanges().gaps(in: range(1, 1)).text == "1")
        let many = TaskRanges((1...12).map { TaskID($0 * 2) })
        #expect(many.text.hasSuffix("18, 20 and 2 more ranges"))
    }
}
