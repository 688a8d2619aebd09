import Testing

@testable import FileKit

struct PathRulesTests {
    @Test(arguments: [
        ("/a/b", "/a/b"), ("/a//b/", "/a/b"), ("/a/./b", "/a/b"), ("/a/../b", "/b"), ("/../../a", "/a"), ("/", "/"),
        ("/a/..", "/"),
    ])
    func textIsNormalized(path: String, expected: String) {
        #expect(PathRules.normalized(path) == expected)
    }

    @Test(arguments: [
        ("aZ-09_.tar.gz", true), ("a b", false), ("a:b", false), ("\u{FC}", false), ("a\u{7F}", false),
        (String(repeating: "a", count: 100), true), (String(repeating: "a", count: 101), false),
    ])
    func someNamesAreTakenEverywhere(name: String, isPortable: Bool) {
        #expect(PathRules.isPortable(name) == isPortable)
    }

    @Test func componentsLeaveOutWhatNamesNothing() {
        #expect(PathRules.components(of: "//a/./b/../c/") == ["a", "b", "..", "c"])
    }
}
