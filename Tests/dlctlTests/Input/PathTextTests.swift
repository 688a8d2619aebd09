import Glibc
import TestSupport
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

    /// What users are shown is the folder that they get, also behind a link.
    @Test func theKernelSaysWhereUpwardLeads() throws {
        let folder = try TemporaryFolder()
        try folder.folder("a")
        try folder.folder("a/b")
        let root = try #require(realpath(folder.path, nil).map { String(cString: $0) })
        #expect(symlink(root + "/a/b", root + "/link") == 0)
        #expect(PathText.absolute("a/../f", in: root) == root + "/f")
        #expect(PathText.absolute("link/../f", in: root) == root + "/a/f")
        #expect(PathText.absolute("none/../f", in: root) == root + "/none/../f")
        #expect(PathText.absolute("/usr/../f", in: root) == "/f")
        #expect(PathText.absolute("/..", in: root) == "/")
    }

    @Test func parts() {
        #expect(PathText.lastComponent("/a/b.iso") == "b.iso")
        #expect(PathText.folder(of: "/a/b.iso") == "/a")
        #expect(PathText.folder(of: "/b.iso") == "/")
    }

    /// `add` and `update` refuse the same destinations.
    @Test(arguments: ["~", "~/f", "/proc/x", "../proc/x", "/sys/x"])
    func placesThatCannotBeMeant(path: String) {
        #expect {
            try PathText.check(path, of: "-o", in: "/usr")
        } throws: { error in
            guard case .usage(let text)? = error as? CommandFailure else { return false }
            return text.hasPrefix("-o: ")
        }
        #expect(throws: Never.self) { try PathText.check("./~", of: "-o", in: "/usr") }
    }
}
