import Testing

@testable import dlctl

@Suite struct PathTextTests {
    @Test(arguments: [
        ("f", "/home/u", "/home/u/f"), ("./f", "/home/u", "/home/u/f"), ("a/b", "/", "/a/b"), ("/x", "/home", "/x"),
        ("//x///y/", "/home", "/x/y"), ("../f", "/home/u", "/home/u/../f"), (".", "/home/u", "/home/u"),
        ("", "/home/u", "/home/u"), ("f", "", "f"),
        ("/x/./y", "", "/x/y"), ("a b", "/tmp", "/tmp/a b"), ("日本", "/tmp", "/tmp/日本"),
    ])
    func absolute(path: String, folder: String, result: String) {
        #expect(PathText.absolute(path, in: folder) == result)
    }

    @Test func parts() {
        #expect(PathText.lastComponent("/a/b.iso") == "b.iso")
        #expect(PathText.folder(of: "/a/b.iso") == "/a")
        #expect(PathText.folder(of: "/b.iso") == "/")
    }
}
