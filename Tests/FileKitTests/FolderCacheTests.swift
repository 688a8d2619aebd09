import Glibc
import TestSupport
import Testing
import TransferModel

@testable import FileKit

@Suite struct FolderCacheTests {
    private let fixture: FilesFixture
    private let cache = FolderCache()

    init() throws { fixture = try FilesFixture() }

    private var path: String { fixture.temporary.path }

    @Test func aFolderIsSharedWhileSomebodyHasItOpen() throws {
        let first = cache.keep(try fixture.open(), owner: FilesFixture.me)
        #expect(cache.folder(at: path, owner: FilesFixture.me) === first)
        #expect(cache.keep(try fixture.open(), owner: FilesFixture.me) === first)
        withExtendedLifetime(first) {}
    }

    @Test func nobodyGetsAnotherOwnersFolder() throws {
        let first = cache.keep(try fixture.open(), owner: FilesFixture.me)
        #expect(cache.folder(at: path, owner: UserID(FilesFixture.me.rawValue + 1)) == nil)
        withExtendedLifetime(first) {}
    }

    @Test func itKeepsNoFolderOpen() throws {
        do { _ = cache.keep(try fixture.open(), owner: FilesFixture.me) }
        #expect(cache.folder(at: path, owner: FilesFixture.me) == nil)
    }

    @Test func aFolderThatFailedIsLookedUpAnew() throws {
        let first = cache.keep(try fixture.open(), owner: FilesFixture.me)
        cache.forget(first, owner: FilesFixture.me)
        #expect(cache.folder(at: path, owner: FilesFixture.me) == nil)
    }

    @Test func anotherFolderAtThePathTakesThePlace() throws {
        let first = cache.keep(try fixture.open(), owner: FilesFixture.me)
        try #require(rename(path, path + "-moved") == 0)
        try #require(mkdir(path, 0o755) == 0)
        let second = cache.keep(try fixture.open(), owner: FilesFixture.me)
        #expect(second !== first)
        #expect(cache.folder(at: path, owner: FilesFixture.me) === second)
        rmdir(path)
        try #require(rename(path + "-moved", path) == 0)
    }
}
