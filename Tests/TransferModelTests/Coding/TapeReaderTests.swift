import Testing

@testable import TransferModel

@Suite struct TapeReaderTests {
    /// Names with the same length, first byte and last byte have the same hash.
    @Test func namesOfOneHashAreToldApart() {
        let names = "abcdefghijklmnopqrstuvwxyz".map { "a\($0)z" } + ["", "b", "az"]
        let table = KeyTable(names)
        for (place, name) in names.enumerated() { #expect(table.place(of: Array(name.utf8)[...]) == place) }
        for name in ["aAz", "a", "zz", "aazz"] { #expect(table.place(of: Array(name.utf8)[...]) == nil) }
    }

    private enum Letter: String, CodingKey, CaseIterable {
        case a, b, c
    }

    @Test(arguments: [
        (#"{"c":1,"a":2}"#, "c a", true), ("{}", "", true), (#"{"a":1,"d":2}"#, "a", false),
        (#"{"a":1,"a":2}"#, "a", false), (#"{"\u0061":1}"#, "", false),
    ])
    func membersAreReadInTheOrderOfTheText(text: String, read: String, isWhole: Bool) throws {
        let tape = try #require(JSONTape(Array(text.utf8)))
        var keys: [String] = []
        let names = JSONNames(Letter.self)
        #expect(
            try TapeReader(tape, isLenient: false).forEachMember(of: 0, named: names) { key, _ in
                keys.append(key.rawValue)
            } == isWhole)
        #expect(keys.joined(separator: " ") == read)
        let whole = try TapeReader(tape, isLenient: true).forEachMember(of: 0, named: names) { _, _ in }
        #expect(whole == (isWhole || text.contains("d")))
    }
}
