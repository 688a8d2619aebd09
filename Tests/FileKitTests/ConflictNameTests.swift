import Testing

@testable import FileKit

struct ConflictNameTests {
    @Test(arguments: [
        ("a.txt", "a (1).txt"), ("a", "a (1)"), (".bashrc", ".bashrc (1)"), ("a.tar.gz", "a (1).tar.gz"),
        ("linux-6.1.tar.xz", "linux-6.1 (1).tar.xz"), ("foo-1.2", "foo-1.2 (1)"), ("x.iso.asc", "x (1).iso.asc"),
        ("a.", "a. (1)"), ("..x", "..x (1)"), ("a b.Mp4", "a b (1).Mp4"), ("v1.2.gz", "v1.2 (1).gz"),
        (".tar.gz", ".tar (1).gz"),
    ])
    func theNumberGoesBeforeTheEnding(name: String, expected: String) {
        #expect(ConflictName.numbered(name, 1) == expected)
        #expect(ConflictName.numbered(name, 0) == name)
    }

    @Test(arguments: [
        String(repeating: "x", count: 255), String(repeating: "x", count: 251) + ".iso",
        String(repeating: "ü", count: 127), String(repeating: "👩‍👩‍👧", count: 14) + ".png",
        "x." + String(repeating: "y", count: 253),
    ])
    func aNumberedNameFitsAndIsWholeCharacters(name: String) {
        let numbered = ConflictName.numbered(name, 9999)
        #expect(numbered.utf8.count <= 255)
        #expect(ConflictName.numbered(name, 9999, longest: 143).utf8.count <= 143)
        #expect(numbered.contains(" (9999)"))
        #expect(numbered != name)
        let stem = numbered.prefix(while: { $0 != " " })
        #expect(name.hasPrefix(stem))
    }
}
