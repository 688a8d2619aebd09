import Glibc
import TestSupport
import Testing
import TransferModel

@testable import DaemonKit

struct FileAccessTests {
    private let temporary: TemporaryFolder
    private let root: String
    private let home: String
    private let access: FileAccess
    private let user = UserID(4242)

    init() throws {
        temporary = try TemporaryFolder()
        root = temporary.file("files")
        home = root + "/4242"
        access = FileAccess(mode: .system(root: root))
        try access.prepareFolder(of: user)
        try Files.write(temporary.file("outside"), "secret")
        try temporary.folder("elsewhere")
    }

    private func reading(_ path: String) -> ErrorCode? {
        code { _ = try access.openForReading(path, owner: user) }
    }

    private func writing(_ path: String) -> ErrorCode? {
        code { _ = try access.openFolder(path, owner: user, create: true) }
    }

    @Test func ownFilesAreReadAndOwnFoldersMade() throws {
        try Files.write(home + "/mine", "text")
        #expect(try access.openForReading(home + "/mine", owner: user).size == 4)
        #expect(writing(home) == nil)
        #expect(writing(home + "/a/b") == nil)
        #expect(Files.names(in: home) == ["a", "mine"])
        #expect(writing(home + "/a/../c") == nil)
        #expect(Files.names(in: home) == ["a", "c", "mine"])
    }

    @Test func everythingElseIsDenied() throws {
        try access.prepareFolder(of: UserID(4343))
        try Files.write(root + "/4343/theirs", "secret")
        for path in [
            temporary.file("outside"), "/etc/passwd", root + "/4343/theirs", home + "/../4343/theirs",
            home + "/../../outside", root, home + "x",
        ] {
            #expect(reading(path) == .permissionDenied)
            #expect(writing(path) == .permissionDenied)
        }
        #expect(Files.names(in: root) == ["4242", "4343"])
    }

    @Test func noLinkIsFollowedAnywhereOnTheWay() throws {
        #expect(symlink(temporary.file("outside"), home + "/file") == 0)
        #expect(symlink(temporary.file("elsewhere"), home + "/folder") == 0)
        #expect(symlink(".", home + "/self") == 0)
        try Files.write(home + "/mine", "text")
        #expect(reading(home + "/file") == .permissionDenied)
        #expect(reading(home + "/self/mine") == .permissionDenied)
        #expect(writing(home + "/folder") == .permissionDenied)
        #expect(writing(home + "/folder/new") == .permissionDenied)
        #expect(Files.names(in: temporary.file("elsewhere")).isEmpty)
    }

    @Test func onlyRegularFilesAreRead() throws {
        #expect(mkfifo(home + "/fifo", 0o600) == 0)
        #expect(reading(home + "/fifo") == .sourceUnreadable)
        #expect(reading(home) == .sourceUnreadable)
        #expect(reading(home + "/missing") == .sourceUnreadable)
    }

    @Test func theFolderIsSharedWithItsUserAlone() throws {
        let expected = AccessControlList.shared(between: user, and: UserID(geteuid())).encoded
        for name in ["system.posix_acl_access", "system.posix_acl_default"] {
            #expect(Files.extendedAttribute(name, of: home) == expected)
        }
        #expect(try #require(Files.status(home)).st_mode & 0o007 == 0)
    }

    @Test func othersMayPassThroughTheStateFolderAndSeeNothing() throws {
        chmod(temporary.path, 0o700)
        try access.prepareFolder(of: user)
        #expect(try #require(Files.status(temporary.path)).st_mode & 0o777 == 0o711)
        #expect(try #require(Files.status(root)).st_mode & 0o777 == 0o711)
    }

    @Test func aUsersDaemonFollowsLinksAsTheUserWould() throws {
        let own = FileAccess(mode: .user)
        #expect(symlink(temporary.file("elsewhere"), temporary.file("link")) == 0)
        _ = try own.openFolder(temporary.file("link/sub"), owner: user, create: true)
        #expect(Files.names(in: temporary.file("elsewhere")) == ["sub"])
        #expect(try own.openForReading(temporary.file("outside"), owner: user).size == 6)
        #expect(own.homeFolder(of: user) == nil)
    }

    @Test func theDescriptorsPathNamesTheFileThatWasOpened() throws {
        try Files.write(home + "/mine", "first")
        let file = try access.openForReading(home + "/mine", owner: user)
        #expect(rename(temporary.file("outside"), home + "/mine") == 0)
        #expect(try Files.text(file.descriptorPath) == "first")
    }
}
