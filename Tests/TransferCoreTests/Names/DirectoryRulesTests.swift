import Testing
import TransferModel

@testable import TransferCore

struct DirectoryRulesTests {
    private func rule(_ directory: String, types: [String]? = nil, names: [String]? = nil) -> DirectoryRule {
        var rule = DirectoryRule(directory: directory)
        (rule.types, rule.names) = (types, names)
        return rule
    }

    @Test(
        arguments: [
            ("video/mp4", "a.bin", "/videos"), ("VIDEO/MP4; codecs=x", "a.bin", "/videos"), (nil, "a.mp4", nil),
            ("application/zip", "a.zip", nil), ("application/zip", "Debian.ISO", "/images"), (nil, "x.img", "/images"),
            ("image/png", "shot-7.png", "/shots"), ("image/png", "shot-77.png", nil), ("text/html", "shot-7.png", nil),
            ("video/mp4", "debian.iso", "/videos"),
        ] as [(String?, String, String?)])
    func theFirstRuleWhoseTypeAndNameMatchCounts(type: String?, name: String, directory: String?) {
        let rules = [
            rule("/videos", types: ["video/*"]), rule("/images", names: ["*.iso", "*.img"]),
            rule("/shots", types: ["image/png"], names: ["shot-?.*"]),
        ]
        #expect(rules.directory(type: type, name: name) == directory)
        #expect((rules + [rule("/rest")]).directory(type: type, name: name) == directory ?? "/rest")
    }

    @Test(arguments: [
        ("*", "", true), ("**", "x", true), ("?", "", false), ("a*b*c", "aXbYbZc", true), ("a*b*c", "aXbYbZ", false),
        ("*.tar.*", "x.tar.gz", true), ("?.é", "é.É", true), ("[ab]", "a", false), ("[ab]", "[ab]", true),
        ("a", "ab", false),
    ])
    func patterns(pattern: String, text: String, matches: Bool) {
        #expect(Wildcard(pattern).matches(Array(text.lowercased())) == matches)
    }

    /// A matcher that tries every place for every `*` would not end.
    @Test func noPatternTakesLong() {
        let pattern = String(repeating: "*a", count: 120)
        #expect(!Wildcard(pattern + "b").matches(Array(String(repeating: "a", count: 255))))
    }
}
