import Glibc
import TestSupport
import Testing
import TransferModel

@testable import FileKit

/// What holds with and without openat2(2).
struct FileAccessTests {
    /// A user's own folder, and files outside it.
    private struct House {
        let temporary: TemporaryFolder
        let root: String
        let home: String
        let access: FileAccess
        let user = UserID(4242)

        init(_ beneath: PathsBeneath = .available) throws {
            temporary = try TemporaryFolder()
            root = temporary.file("files")
            home = root + "/4242"
            access = FileAccess(mode: .system(root: root), beneath: beneath)
            try access.prepareFolder(of: user)
            try Files.write(temporary.file("outside"), "secret")
            try temporary.folder("elsewhere")
        }

        func reading(_ path: String) -> ErrorCode? {
            code { _ = try access.openForReading(path, owner: user) }
        }

        func writing(_ path: String) -> ErrorCode? {
            code { _ = try access.openFolder(path, owner: user, create: true) }
        }
    }

    @Test(arguments: PathsBeneathTests.ways)
    func ownFilesAreReadAndOwnFoldersMade(_ way: PathsBeneath) throws {
        let house = try House(way)
        try Files.write(house.home + "/mine", "text")
        #expect(try house.access.openForReading(house.home + "/mine", owner: house.user).size == 4)
        #expect(house.writing(house.home) == nil)
        #expect(house.writing(house.home + "/a/b") == nil)
        #expect(Files.names(in: house.home) == ["a", "mine"])
        #expect(house.writing(house.home + "/a/../c") == nil)
        #expect(Files.names(in: house.home) == ["a", "c", "mine"])
    }

    @Test(arguments: PathsBeneathTests.ways)
    func everythingElseIsDenied(_ way: PathsBeneath) throws {
        let house = try House(way)
        try house.access.prepareFolder(of: UserID(4343))
        try Files.write(house.root + "/4343/theirs", "secret")
        for path in [
            house.temporary.file("outside"), "/etc/passwd", house.root + "/4343/theirs", house.home + "/../4343/theirs",
            house.home + "/../../outside", house.root, house.home + "x",
        ] {
            #expect(house.reading(path) == .permissionDenied)
            #expect(house.writing(path) == .permissionDenied)
        }
        #expect(Files.names(in: house.root) == ["4242", "4343"])
    }

    @Test(arguments: PathsBeneathTests.ways)
    func noLinkIsFollowedAnywhereOnTheWay(_ way: PathsBeneath) throws {
        let house = try House(way)
        #expect(symlink(house.temporary.file("outside"), house.home + "/file") == 0)
        #expect(symlink(house.temporary.file("elsewhere"), house.home + "/folder") == 0)
        #expect(symlink(".", house.home + "/self") == 0)
        try Files.write(house.home + "/mine", "text")
        #expect(house.reading(house.home + "/file") == .permissionDenied)
        #expect(house.reading(house.home + "/self/mine") == .permissionDenied)
        #expect(house.writing(house.home + "/folder") == .permissionDenied)
        #expect(house.writing(house.home + "/folder/new") == .permissionDenied)
        #expect(Files.names(in: house.temporary.file("elsewhere")).isEmpty)
    }

    @Test(arguments: PathsBeneathTests.ways)
    func onlyRegularFilesAreRead(_ way: PathsBeneath) throws {
        let house = try House(way)
        #expect(mkfifo(house.home + "/fifo", 0o600) == 0)
        #expect(house.reading(house.home + "/fifo") == .sourceUnreadable)
        #expect(house.reading(house.home) == .sourceUnreadable)
        #expect(house.reading(house.home + "/missing") == .sourceUnreadable)
    }

    @Test func aRefusalNamesTheFolder() throws {
        let house = try House()
        let refusal = #expect(throws: TransferError.self) {
            try house.access.openForReading("/etc/passwd", owner: house.user)
        }
        #expect(
            refusal?.message.contains(" \(house.home), ") == true
                && refusal?.details["folder"]?.stringValue == house.home)
    }

    @Test func theFolderIsSharedWithItsUserAlone() throws {
        let house = try House()
        let expected = AccessControlList.shared(between: house.user, and: UserID(geteuid())).encoded
        for name in ["system.posix_acl_access", "system.posix_acl_default"] {
            #expect(Files.extendedAttribute(name, of: house.home) == expected)
        }
        #expect(try #require(Files.status(house.home)).st_mode & 0o007 == 0)
    }

    @Test func othersMayPassThroughTheStateFolderAndSeeNothing() throws {
        let house = try House()
        chmod(house.temporary.path, 0o700)
        try house.access.prepareFolder(of: house.user)
        #expect(try #require(Files.status(house.temporary.path)).st_mode & 0o777 == 0o711)
        #expect(try #require(Files.status(house.root)).st_mode & 0o777 == 0o711)
    }

    @Test func aUsersDaemonFollowsLinksAsTheUserWould() throws {
        let house = try House()
        let own = FileAccess(mode: .user)
        #expect(symlink(house.temporary.file("elsewhere"), house.temporary.file("link")) == 0)
        _ = try own.openFolder(house.temporary.file("link/sub"), owner: house.user, create: true)
        #expect(Files.names(in: house.temporary.file("elsewhere")) == ["sub"])
        #expect(try own.openForReading(house.temporary.file("outside"), owner: house.user).size == 6)
        #expect(own.homeFolder(of: house.user) == nil)
    }

    @Test(arguments: PathsBeneathTests.ways)
    func theDescriptorsPathNamesTheFileThatWasOpened(_ way: PathsBeneath) throws {
        let house = try House(way)
        try Files.write(house.home + "/mine", "first")
        let file = try house.access.openForReading(house.home + "/mine", owner: house.user)
        #expect(rename(house.temporary.file("outside"), house.home + "/mine") == 0)
        #expect(try Files.text(file.descriptorPath) == "first")
    }
}
