import Glibc
import TestSupport
import Testing
import TransferModel

@testable import DaemonKit

struct HelperFoldersTests {
    private let folder: TemporaryFolder
    private var first: String { folder.file("first") }
    private var second: String { folder.file("second") }

    init() throws {
        folder = try TemporaryFolder()
        for place in [first, second] { mkdir(place, 0o755) }
    }

    private func folders(isSystem: Bool = false) -> HelperFolders {
        HelperFolders(isSystem: isSystem, folders: [first, second])
    }

    private func put(_ path: String, mode: mode_t = 0o755) throws {
        try Files.write(path, "#!/bin/sh\n")
        chmod(path, mode)
    }

    private func refusal(_ scheme: String, _ folders: HelperFolders) -> String? {
        do {
            _ = try folders.program(of: scheme)
            return nil
        } catch {
            return error.code == .badURL ? error.message : "\(error)"
        }
    }

    @Test func theFirstFolderCounts() throws {
        try put(second + "/demo")
        try put(second + "/other")
        #expect(try folders().program(of: "demo").path == second + "/demo")
        try put(first + "/demo")
        #expect(try folders().program(of: "demo").path == first + "/demo")
        #expect(folders().available() == ["demo", "other"])
        #expect(refusal("gopher", folders())?.contains("\(first), \(second)") == true)
    }

    /// Only the user and root may be able to change the program, and it must be executable.
    @Test func whatOthersCanWriteIsRefused() throws {
        for mode in [0o757, 0o777] as [mode_t] {
            try put(first + "/demo", mode: mode)
            #expect(refusal("demo", folders())?.contains("can be written by others") == true)
        }
        // The user's own group may write, as with umask 002.
        try put(first + "/demo", mode: 0o775)
        #expect(try folders().program(of: "demo").path == first + "/demo")
        #expect(refusal("demo", folders(isSystem: true))?.contains("written by its group") == true)
        try put(first + "/demo", mode: 0o644)
        #expect(refusal("demo", folders())?.contains("not executable") == true)
        unlink(first + "/demo")
        mkdir(first + "/demo", 0o755)
        #expect(refusal("demo", folders())?.contains("not a regular file") == true)
        #expect(folders().available().isEmpty)
        // The next folder still counts.
        try put(second + "/demo")
        #expect(try folders().program(of: "demo").path == second + "/demo")
    }

    @Test func schemesThatDldKnowsAreNeverLookedFor() throws {
        for name in ["http", "https", "file", "sftp", "../first/demo", "..", "DEMO", ""] {
            if !name.contains("/"), !name.isEmpty, name != ".." { try put(first + "/" + name) }
            #expect(refusal(name, folders()) != nil, "\(name)")
        }
        #expect(folders().available().isEmpty)
    }

    @Test func aUsersDaemonLooksAtHomeFirst() {
        #expect(
            refusal("demo", HelperFolders(isSystem: false, home: "/h"))?.contains(
                "/h/.local/lib/dld/schemes, /usr/local") == true)
        #expect(refusal("demo", HelperFolders(isSystem: true, home: "/h"))?.contains("/h/") == false)
    }

    /// A system daemon accepts only what nobody but root can change: the file, its folders, and those that links lead
    /// to.
    @Test(.enabled(if: Requirements.isRoot, "files of other users need root"))
    func aSystemDaemonTakesOnlyRootsPrograms() throws {
        let root = "/run/dld-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        mkdir(root, 0o755)
        defer { Files.removeTree(root) }
        mkdir(root + "/schemes", 0o755)
        let path = root + "/schemes/demo"
        let folders = HelperFolders(isSystem: true, folders: [root + "/schemes"])
        try put(path)
        #expect(try folders.program(of: "demo").path == path)
        chown(path, 40017, 0)
        #expect(refusal("demo", folders)?.contains("does not belong to root") == true)
        chown(path, 0, 0)
        chmod(path, 0o775)
        #expect(refusal("demo", folders)?.contains("can be written") == true)
        chmod(path, 0o755)
        for place in [root, root + "/schemes"] {
            chmod(place, 0o777)
            #expect(refusal("demo", folders)?.contains("\(place) can be written") == true)
            chmod(place, 0o755)
            chown(place, 40017, 0)
            #expect(refusal("demo", folders)?.contains("\(place) does not belong to root") == true)
            chown(place, 0, 0)
        }
        #expect(refusal("demo", folders) == nil)
        // Others can write to the target of the link.
        try put(first + "/demo")
        symlink(first + "/demo", root + "/schemes/linked")
        #expect(refusal("linked", folders)?.contains("can be written") == true)
        #expect(folders.available() == ["demo"])
    }
}
