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

    @Test func componentsLeaveOutWhatNamesNothing() {
        #expect(PathRules.components(of: "//a/./b/../c/") == ["a", "b", "..", "c"])
    }
}
