import Testing

@testable import dld_web

@Suite struct SecretTests {
    /// All texts of at most three of these letters, whose bits contain each other's.
    @Test func onlyEqualTextsAreEqual() {
        let letters = ["", "@", "A", "B", "C", "G", "o", "\u{7F}"]
        let texts = Set(letters.flatMap { a in letters.flatMap { b in letters.map { a + b + $0 } } })
        for one in texts {
            let equals = texts.filter { Secret.equal(one, $0) }
            #expect(equals == [one])
        }
    }

    @Test func aRandomTextOpensNothing() {
        let keys = (0..<1000).map { _ in Secret.random(bits: 192) }
        #expect(!zip(keys, keys.dropFirst()).contains { Secret.equal($0, $1) })
    }
}
