import Testing
import TransferModel

@testable import TransferStore

@Suite struct PageCursorTests {
    private var record: TaskRecord {
        var spec = TaskSpec()
        spec.priority = TaskPriority(0.3)
        var status = TaskStatus(state: .completed, createdAt: epoch)
        status.finishedAt = after(1)
        return TaskRecord(
            id: TaskID(77), session: .shared(of: alice), spec: spec, status: status, host: "h", position: -1.5)
    }

    @Test(arguments: TaskOrder.allCases) func comesBackFromItsText(_ order: TaskOrder) throws {
        let cursor = PageCursor(order: order, after: record)
        #expect(try PageCursor(cursor.text(store: "s"), order: order, store: "s") == cursor)
    }

    @Test func isOfOneStore() {
        let text = PageCursor(order: .oldest, after: record).text(store: "s")
        #expect(throws: TransferError.self) { try PageCursor(text, order: .oldest, store: "t") }
    }

    @Test func everyChangedCharacterIsNoticed() {
        let text = PageCursor(order: .queue, after: record).text(store: "s")
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "7" ? "8" : "7")
            #expect(throws: TransferError.self) { try PageCursor(changed, order: .queue, store: "s") }
        }
    }
}
