import Testing
import TransferModel

@testable import TransferStore

@Suite struct PageCursorTests {
    private let key = ListKey(id: TaskID(77), major: 0.3, minor: -1.5)

    @Test(arguments: TaskOrder.allCases) func comesBackFromItsText(_ order: TaskOrder) throws {
        for skip in [0, 7] {
            let cursor = PageCursor(order: order, stage: order.stages.count - 1, key: key, skip: skip)
            #expect(try PageCursor(cursor.text(store: "s"), order: order, store: "s") == cursor)
        }
    }

    @Test func isOfOneStore() {
        let text = PageCursor(order: .oldest, key: key).text(store: "s")
        #expect(throws: TransferError.self) { try PageCursor(text, order: .oldest, store: "t") }
    }

    @Test func everyChangedCharacterIsNoticed() {
        let text = PageCursor(order: .queue, key: key, skip: 5).text(store: "s")
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "7" ? "8" : "7")
            #expect(throws: TransferError.self) { try PageCursor(changed, order: .queue, store: "s") }
        }
    }
}
