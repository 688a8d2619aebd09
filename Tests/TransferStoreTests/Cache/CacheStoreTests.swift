import Foundation
import TestSupport
import Testing
import Threading
import TransferModel

@testable import TransferStore

/// The cache returns what it stored, and its disk makes no transfer fail.
struct CacheStoreTests {
    let folder: TemporaryFolder
    let place = CachePlace(alice, "")

    init() throws { folder = try TemporaryFolder() }

    private static let capacity = 1 << 20

    func record(_ url: String, selection: String = "", body: [UInt8] = [1, 2, 3], at time: Int64 = 7)
        -> CacheRecord
    {
        CacheRecord(
            url: url, selection: selection, head: "200", requestTime: time, responseTime: time, body: body)
    }

    func open(
        _ path: String = "cache", ownersMost: Int = 1 << 30, boot: String? = "1", rest: Duration = .seconds(10)
    ) -> CacheStore {
        CacheStore(path: folder.file(path), ownersMost: ownersMost, boot: boot, inPlace: true, rest: rest)
    }

    func find(
        _ store: CacheStore, _ url: String, in place: CachePlace? = nil, selection: String = ""
    ) async -> CacheRecord? {
        await withCheckedContinuation { continuation in
            store.find(place ?? self.place, url, choosing: { $0.firstIndex { $0.selection == selection } }) {
                continuation.resume(returning: $0)
            }
        }
    }

    func put(_ store: CacheStore, _ record: CacheRecord, in place: CachePlace? = nil, capacity: Int = capacity) {
        store.put(record, in: place ?? self.place, capacity: capacity)
    }

    private var bodies: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.file("cache/bodies"))) ?? []
    }

    /// A client was told that they are gone.
    @Test(.enabled(if: Requirements.mayAdministrate, "mounts need root")) func whatIsRemovedOnAFullDiskIsNotThereLater()
        async throws
    {
        let disk = try SmallDisk(size: "2m")
        func open() -> CacheStore {
            CacheStore(path: disk.path + "/cache", ownersMost: 1 << 30, boot: "1", inPlace: true, rest: .zero)
        }
        let first = open()
        for number in 0..<40 { put(first, record("http://a/\(number)", body: [UInt8](repeating: 9, count: 3000))) }
        #expect(await find(first, "http://a/7") != nil)
        for (number, size) in [1 << 18, 1 << 14, 1 << 12].enumerated() {
            for part in 0..<64 where (try? disk.fill("\(number)-\(part)", bytes: size)) == nil { break }
        }
        _ = await first.remove(alice, nil, url: nil, since: nil)
        for number in 0..<3 { for part in 0..<64 { unlink("\(disk.path)/\(number)-\(part)") } }
        await first.close()
        let second = open()
        #expect(await second.usage(of: alice).isEmpty)
        #expect(await find(second, "http://a/7") == nil)
    }

    @Test func recordsOutliveTheDaemon() async throws {
        let (short, long) = (record("http://a/"), record("http://b/", body: [UInt8](repeating: 9, count: 20_000)))
        let empty = record("http://c/", body: [])
        let first = open()
        for one in [short, long, empty] { put(first, one) }
        #expect(bodies.count == 1)
        #expect(await find(first, "http://b/") == long)
        await first.close()
        let second = open()
        for one in [short, long, empty] { #expect(await find(second, one.url) == one) }
        #expect(
            await second.usage(of: alice) == ["": CacheUsage(bytes: short.size + long.size + empty.size, entries: 3)])
        #expect(await find(second, "http://d/") == nil)
    }

    @Test func ownersAndStoragesShareNothing() async throws {
        let store = open()
        put(store, record("http://a/"))
        #expect(await find(store, "http://a/", in: CachePlace(bob, "")) == nil)
        #expect(await find(store, "http://a/", in: CachePlace(alice, "s")) == nil)
        #expect(await store.usage(of: bob) == [:])
        #expect(await store.remove(bob, nil, url: nil, since: nil) == 0)
        #expect(await find(store, "http://a/") != nil)
    }

    @Test func aNewRecordReplacesTheOneOfItsName() async throws {
        let store = open()
        put(store, record("http://a/", body: [UInt8](repeating: 1, count: 20_000)))
        put(store, record("http://a/", body: [UInt8](repeating: 2, count: 30_000)))
        put(store, record("http://a/", selection: "x: 1"))
        #expect(await find(store, "http://a/")?.body == [UInt8](repeating: 2, count: 30_000))
        #expect(await store.usage(of: alice)[""]?.entries == 2)
        #expect(bodies.count == 1)
    }

    @Test func theLeastRecentlyUsedGoes() async throws {
        let store = open()
        let body = [UInt8](repeating: 0, count: 20_000)
        let capacity = 3 * record("http://0/", body: body).size
        for number in 0..<3 { put(store, record("http://\(number)/", body: body), capacity: capacity) }
        store.touch(place, url: "http://0/", selection: "")
        put(store, record("http://3/", body: body), capacity: capacity)
        #expect(await find(store, "http://1/") == nil)
        for number in [0, 2, 3] { #expect(await find(store, "http://\(number)/") != nil) }
        #expect(bodies.count == 3)
        #expect(await store.usage(of: alice)[""]?.bytes == capacity)
    }

    @Test func allPlacesOfAnOwnerAreBounded() async throws {
        let size = record("http://0/").size
        let store = open(ownersMost: 4 * size)
        for number in 0..<3 { put(store, record("http://\(number)/")) }
        for number in 0..<3 { put(store, record("http://\(number)/"), in: CachePlace(alice, "s")) }
        put(store, record("http://0/"), in: CachePlace(bob, ""))
        let usage = await store.usage(of: alice)
        // The answers that were not used for the longest time are removed first, whatever session they belong to.
        #expect(usage[""]?.entries == 1 && usage["s"]?.entries == 3)
        #expect(await find(store, "http://2/") != nil)
        #expect(await store.usage(of: bob)[""]?.entries == 1)
    }

    @Test func answersForOneURLAreBounded() async throws {
        let store = open()
        for number in 0..<40 { put(store, record("http://a/", selection: "x: \(number)")) }
        #expect(await store.usage(of: alice)[""]?.entries == Bounds.cacheVariants)
        #expect(await find(store, "http://a/", selection: "x: 39") != nil)
        #expect(await find(store, "http://a/", selection: "x: 0") == nil)
    }

    @Test func recordsAreRemovedByURLStorageAndTime() async throws {
        let store = open()
        put(store, record("http://a/", at: 10))
        put(store, record("http://b/", at: 20))
        put(store, record("http://a/", at: 30), in: CachePlace(alice, "s"))
        #expect(await store.remove(alice, "", url: nil, since: 20) == 1)
        #expect(await find(store, "http://a/") != nil)
        store.forget(alice, "s", url: "http://a/")
        #expect(await find(store, "http://a/", in: CachePlace(alice, "s")) == nil)
        #expect(await store.remove(alice, nil, url: "http://a/", since: nil) == 1)
        #expect(await store.usage(of: alice) == [:])
    }

    // MARK: Damage

    /// A body that is shorter, longer, different or missing is never returned.
    @Test(arguments: ["short", "long", "other", "gone", "folder"])
    func damagedBodiesAreNotServed(_ damage: String) async throws {
        let store = open()
        put(store, record("http://a/", body: [UInt8](repeating: 1, count: 20_000)))
        let file = folder.file("cache/bodies/" + (try #require(bodies.first)))
        switch damage {
        case "short": try Data(repeating: 1, count: 19_999).write(to: URL(fileURLWithPath: file))
        case "long": try Data(repeating: 1, count: 20_001).write(to: URL(fileURLWithPath: file))
        case "other": try Data([UInt8](repeating: 1, count: 19_999) + [2]).write(to: URL(fileURLWithPath: file))
        default:
            try FileManager.default.removeItem(atPath: file)
            if damage == "folder" {
                try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
            }
        }
        #expect(await find(store, "http://a/") == nil)
        #expect(await store.usage(of: alice) == [:])
    }

    @Test func damagedRowsAreNotServed() async throws {
        let first = open()
        for url in ["http://a/", "http://b/", "http://c/"] { put(first, record(url)) }
        await first.close()
        let connection = try Connection(folder.file("cache/cache.sqlite"))
        try connection.execute("UPDATE entry SET body = x'010204' WHERE url = 'http://a/'")
        try connection.execute("UPDATE entry SET head = '404' WHERE url = 'http://b/'")
        connection.close()
        let second = open()
        #expect(await find(second, "http://a/") == nil)
        #expect(await find(second, "http://b/") == nil)
        #expect(await find(second, "http://c/") != nil)
    }

    /// Whatever the next daemon finds, its cache starts empty and works.
    @Test(arguments: ["garbage", "form", "pages", "cut"])
    func aDamagedDatabaseBeginsEmpty(_ damage: String) async throws {
        let path = folder.file("cache/cache.sqlite")
        let first = open()
        for number in 0..<200 { put(first, record("http://\(number)/", body: [UInt8](repeating: 3, count: 2000))) }
        await first.close()
        switch damage {
        case "garbage": try Data("not a database".utf8).write(to: URL(fileURLWithPath: path))
        case "form":
            let connection = try Connection(path)
            try connection.execute("PRAGMA user_version = 99")
            connection.close()
        default:
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            if damage == "cut" {
                bytes = bytes.prefix(bytes.count / 2)
            } else {
                for index in 4096..<bytes.count { bytes[index] = 0x5A }
            }
            try bytes.write(to: URL(fileURLWithPath: path))
        }
        let second = open()
        // Damage may become visible late, but no wrong body is ever returned.
        for number in 0..<200 {
            if let found = await find(second, "http://\(number)/") {
                #expect(found.body == [UInt8](repeating: 3, count: 2000))
            }
        }
        put(second, record("http://a/"))
        put(second, record("http://b/"))
        #expect(await find(second, "http://b/") != nil)
    }

    @Test func aCacheThatVanishesBeginsEmpty() async throws {
        let store = open()
        put(store, record("http://a/"))
        try FileManager.default.removeItem(atPath: folder.file("cache"))
        #expect(await find(store, "http://a/") == nil)
        put(store, record("http://b/", body: [UInt8](repeating: 1, count: 20_000)))
        #expect(await find(store, "http://b/") != nil)
        await store.close()
        let second = open()
        #expect(await find(second, "http://b/") != nil)
    }

    /// If no folder or no file can be created, there is no cache and no failure.
    @Test func withoutDiskThereIsNothing() async throws {
        let store = CacheStore(path: "/dev/null/cache", ownersMost: 1 << 20, boot: "1", inPlace: true)
        put(store, record("http://a/"))
        #expect(await find(store, "http://a/") == nil)
        #expect(await store.usage(of: alice) == [:])
        await store.close()
    }

    /// If the folder of bodies is not what it was, the cache starts empty and creates the folder again.
    @Test(arguments: [true, false]) func withoutTheFolderOfBodiesItBeginsEmpty(isFile: Bool) async throws {
        let store = open()
        put(store, record("http://a/"))
        try FileManager.default.removeItem(atPath: folder.file("cache/bodies"))
        if isFile { try Data().write(to: URL(fileURLWithPath: folder.file("cache/bodies"))) }
        let long = record("http://b/", body: [UInt8](repeating: 1, count: 20_000))
        put(store, long)
        #expect(await find(store, "http://b/") == nil)
        #expect(await store.usage(of: alice) == [:])
        put(store, long)
        #expect(await find(store, "http://b/") == long)
    }

    /// A daemon that died between writing the file and the commit left a file.
    @Test func filesOfNobodyAreSwept() async throws {
        let first = open()
        put(first, record("http://a/", body: [UInt8](repeating: 1, count: 20_000)))
        await first.close()
        for name in ["77", "x"] { try Data([1]).write(to: URL(fileURLWithPath: folder.file("cache/bodies/\(name)"))) }
        let second = open()
        #expect(await find(second, "http://a/") != nil)
        #expect(bodies.count == 1)
    }

    /// The cache behaves the same on its own thread as in place.
    @Test func itsThreadDoesTheSame() async throws {
        let store = CacheStore(path: folder.file("cache"), ownersMost: 1 << 30, boot: "1")
        for number in 0..<50 { put(store, record("http://\(number)/")) }
        for number in 0..<50 { #expect(await find(store, "http://\(number)/") != nil) }
        await store.close()
        #expect(await find(store, "http://1/") == nil)
    }

    // MARK: A disk that hangs

    /// Blocks the disk thread in a lookup of "http://held/" until `end` is called.
    private func hang(_ store: CacheStore) async -> (end: () -> Void, found: Task<CacheRecord?, Never>) {
        put(store, record("http://held/"))
        let gate = DispatchSemaphore(value: 0)
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let found = Task { [place] in
            await withCheckedContinuation { continuation in
                store.find(
                    place, "http://held/",
                    choosing: { _ in
                        begins.finish()
                        _ = gate.wait(timeout: .now() + 60)
                        return 0
                    }, then: { continuation.resume(returning: $0) })
            }
        }
        for await _ in begun {}
        return ({ gate.signal() }, found)
    }

    /// Beyond the limit no request waits. An answer that should have been removed is not returned, because the disk
    /// starts empty.
    @Test func removalsThatDoNotFitMakeItStartEmpty() async throws {
        let store = CacheStore(path: folder.file("cache"), ownersMost: 1 << 30, boot: "1")
        for url in ["http://a/", "http://kept/"] { put(store, record(url)) }
        let disk = await hang(store)
        for number in 0..<5000 { store.touch(place, url: "http://\(number)/", selection: "") }
        store.forget(alice, "", url: "http://a/")
        // The answer was stored, but may have been removed since. Nothing is returned until the disk is empty.
        #expect(await find(store, "http://kept/") == nil)
        disk.end()
        #expect(await disk.found.value == nil)
        #expect(await store.usage(of: alice) == [:])
        #expect(await find(store, "http://a/") == nil)
        put(store, record("http://b/"))
        #expect(await find(store, "http://b/") != nil)
        await store.close()
    }

    @Test func usesThatDoNotFitAreNotNoted() async throws {
        let store = CacheStore(path: folder.file("cache"), ownersMost: 1 << 30, boot: "1")
        put(store, record("http://a/"))
        let disk = await hang(store)
        for _ in 0..<5000 { store.touch(place, url: "http://a/", selection: "") }
        disk.end()
        _ = await disk.found.value
        #expect(await find(store, "http://a/") != nil)
        await store.close()
    }

    /// An answer that does not fit removes the older answer in its place.
    @Test func anAnswerThatDoesNotFitReplacesNothing() async throws {
        let store = CacheStore(path: folder.file("cache"), ownersMost: 1 << 30, boot: "1")
        for url in ["http://a/", "http://kept/"] { put(store, record(url)) }
        let disk = await hang(store)
        put(store, record("http://a/", body: [UInt8](repeating: 1, count: (16 << 20) + 1)))
        disk.end()
        _ = await disk.found.value
        #expect(await find(store, "http://a/") == nil)
        #expect(await find(store, "http://kept/") != nil)
        await store.close()
    }

    @Test func lookupsThatDoNotFitAreAnsweredAtOnce() async throws {
        let store = CacheStore(path: folder.file("cache"), ownersMost: 1 << 30, boot: "1")
        let disk = await hang(store)
        let answers = Guarded(0)
        for _ in 0..<5000 {
            store.find(place, "http://held/", choosing: { _ in nil }, then: { _ in answers.withLock { $0 += 1 } })
        }
        #expect(answers.withLock { $0 } >= 5000 - 4096)
        disk.end()
        _ = await disk.found.value
        await store.close()
    }
}
