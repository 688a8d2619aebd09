import Foundation
import Testing
import TransferModel

@testable import TransferStore

/// What the database does with what it finds when it is opened.
extension CacheStoreTests {
    private func damage(_ statement: String) throws {
        let connection = try Connection(folder.file("cache/cache.sqlite"))
        defer { connection.close() }
        try connection.execute("PRAGMA ignore_check_constraints = ON; \(statement)")
    }

    /// No damaged number makes a calculation overflow, which would end the daemon after each start.
    @Test(arguments: [
        "used = 9223372036854775807", "used = -9223372036854775808", "size = 9223372036854775807",
        "size = -9223372036854775808", "size = 9223372036854775807 - id", "size = -5",
    ])
    func damagedNumbersMakeItBeginEmpty(_ change: String) async throws {
        let first = open()
        for url in ["http://a/", "http://b/"] { put(first, record(url)) }
        await first.close()
        try damage("UPDATE entry SET \(change)")
        let second = open()
        #expect(await find(second, "http://a/") == nil)
        put(second, record("http://c/"))
        #expect(await find(second, "http://c/") != nil)
        #expect(await second.usage(of: alice)[""]?.entries == 1)
    }

    /// Damage to an index or a row must not give an answer to another user, or to another session.
    @Test(arguments: ["owner = \(bob.rawValue)", "storage = 's'"])
    func damageMovesNoAnswer(_ change: String) async throws {
        let first = open()
        put(first, record("http://a/"))
        await first.close()
        try damage("UPDATE entry SET \(change)")
        let second = open()
        for place in [place, CachePlace(bob, ""), CachePlace(alice, "s")] {
            #expect(await find(second, "http://a/", in: place) == nil)
        }
    }

    /// The capacity bounds what the folder takes, not only what is in the database.
    @Test func theFolderTakesNoMoreThanTheCapacity() async throws {
        let store = open()
        let capacity = 4 << 20
        var most = 0
        for number in 0..<600 {
            put(store, record("http://a/\(number)", body: Array(repeating: 7, count: 15_000)), capacity: capacity)
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.file("cache"))
            let sizes = files.map { stat(folder.file("cache/\($0)")) }
            most = max(most, sizes.reduce(0, +))
        }
        #expect(await store.usage(of: alice)[""]?.bytes ?? 0 > capacity * 9 / 10)
        #expect(most < capacity * 11 / 10, "\(most) of \(capacity)")
        await store.close()
    }

    private func stat(_ path: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return attributes?[.type] as? FileAttributeType == .typeRegular ? attributes?[.size] as? Int ?? 0 : 0
    }

    // MARK: Changes that did not reach the disk

    /// After a power loss, an answer may be on the disk whose removal is not.
    @Test(arguments: [("1", true), ("2", false), (nil, false)] as [(String?, Bool)])
    func onlyTheSameBootUsesWhatWasNotClosed(boot: String?, isUsed: Bool) async throws {
        let running = open()
        put(running, record("http://a/"))
        try FileManager.default.copyItem(atPath: folder.file("cache"), toPath: folder.file("copy"))
        let next = open("copy", boot: boot)
        #expect(await (find(next, "http://a/") != nil) == isUsed)
        put(next, record("http://b/"))
        #expect(await find(next, "http://b/") != nil)
        await running.close()
    }

    /// What was closed is whole. The next boot uses it, and again only until it stops.
    @Test(arguments: ["2", nil] as [String?]) func theNextBootUsesWhatWasClosed(boot: String?) async throws {
        let first = open()
        put(first, record("http://a/"))
        await first.close()
        let second = open(boot: boot)
        #expect(await find(second, "http://a/") != nil)
        try FileManager.default.copyItem(atPath: folder.file("cache"), toPath: folder.file("copy"))
        #expect(await find(open("copy", boot: "3"), "http://a/") == nil)
        await second.close()
        #expect(await find(open(boot: "3"), "http://a/") != nil)
    }

    /// A change that finds no database to be made in is not lost with it.
    @Test func aRemovalWithoutADatabaseMakesItBeginEmpty() async throws {
        let first = open()
        for url in ["http://a/", "http://kept/"] { put(first, record(url)) }
        await first.close()
        let (place, aside) = (folder.file("cache"), folder.file("aside"))
        try FileManager.default.moveItem(atPath: place, toPath: aside)
        try Data().write(to: URL(fileURLWithPath: place))
        let second = open(rest: .zero)
        second.forget(alice, "", url: "http://a/")
        try FileManager.default.removeItem(atPath: place)
        try FileManager.default.moveItem(atPath: aside, toPath: place)
        #expect(await find(second, "http://a/") == nil)
        put(second, record("http://b/"))
        #expect(await find(second, "http://b/") != nil)
    }
}
