import Testing

@testable import TransferModel

struct BoxedTests {
    private struct Holder: Hashable {
        @Boxed var list: [Int]
        @BoxedOptional var name: String?
    }

    @Test func copiesAreValues() {
        let first = Holder(list: [1, 2])
        var second = first
        second.list.append(3)
        #expect(first.list == [1, 2])
        #expect(second.list == [1, 2, 3])
    }

    @Test func copiesOfWhatMayBeMissingAreValues() {
        var first = Holder(list: [])
        first.name = "a"
        var (second, third) = (first, first)
        second.name?.append("b")
        third.name = nil
        #expect(first.name == "a" && second.name == "ab" && third.name == nil)
        #expect(Holder(list: []) == third && first != third)
    }

    @Test func sharedBoxesAreValues() {
        let first = Holder(list: [1])
        var second = Holder(list: [2])
        second.$list = first.$list
        #expect(second.list == [1])
        second.list.append(3)
        #expect(first.list == [1] && second.list == [1, 3])
    }

    @Test func equalValuesAreEqual() {
        #expect(Holder(list: [1]) == Holder(list: [1]))
        #expect(Holder(list: [1]) != Holder(list: [2]))
        #expect(Set([Holder(list: [1]), Holder(list: [1])]).count == 1)
    }

    /// A thousand waiting transfers have many copies of these.
    @Test func recordsAreSmall() {
        #expect(MemoryLayout<TaskRecord>.size <= 160)
    }
}
