import Testing

@testable import dld_fleet

@Suite struct DatabaseErrorTests {
    @Test(arguments: [
        ("40001", DatabaseError.Kind.toRepeat), ("40P01", .toRepeat), ("57P01", .toRepeat), ("57P03", .toRepeat),
        ("57014", .toRepeat), ("08006", .toRepeat), ("53300", .toRepeat), ("25P03", .toRepeat), ("", .toRepeat),
        ("42501", .refused), ("DL001", .refused), ("DL004", .refused), ("28P01", .refused), ("42P01", .other),
        ("22P02", .other), ("23505", .other),
    ])
    func statesHaveKinds(_ state: String, _ kind: DatabaseError.Kind) {
        #expect(DatabaseError(state: state, message: "").kind == kind)
    }

    @Test func aSentenceIsOneLine() {
        #expect(DatabaseError.line("a failed: b\n\tIs it running?\n") == "a failed: b Is it running?")
        #expect(DatabaseError(state: "42501", message: "no").description == "no (42501)")
    }
}
