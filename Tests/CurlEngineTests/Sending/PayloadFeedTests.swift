import Foundation
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct PayloadFeedTests {
    private let folder: TemporaryFolder
    private let files = FileSide(journal: nil, bufferBound: 1_048_576)
    private var buffers: BufferPool { files.buffers }
    private let content = pattern(300_001)

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("file", content)
    }

    /// How much of the file is in the page cache.
    enum Cache: CaseIterable, Sendable {
        case nothing, everything, some
    }

    private func feed(
        _ payload: Payload, _ source: UploadSource?, _ files: FileSide? = nil, uploads: Int = 5,
        cache: Cache = .nothing
    ) -> PayloadFeed {
        let asked = Guarded(0)
        let files = files ?? self.files
        files.uploads.withLock { $0 = uploads - 1 }
        return PayloadFeed(payload, source: source, files: files) { source, target, count, offset in
            switch cache {
            case .nothing: return nil
            case .everything: return Self.inMemory(source, target, count, offset)
            case .some:
                let turn = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                if turn % 3 == 0 { return nil }
                return Self.inMemory(source, target, (count + 1) / 2, offset)
            }
        }
    }

    /// Reads as from a file system that has the entire file in memory.
    private static func inMemory(
        _ source: UploadSource, _ target: UnsafeMutableRawPointer, _ count: Int, _ offset: Int64
    ) -> Int? {
        let got = pread(source.fileDescriptor, target, count, off_t(offset))
        return got > 0 && source.identityNow() == source.identity ? got : 0
    }

    private func open() throws -> UploadSource { try UploadSource.open(path: folder.file("file")) }

    /// Reads as libcurl does, in pieces of `room` bytes. Returns nil if a read failed.
    private func drain(_ feed: PayloadFeed, room: Int = 7001, limit: Int = .max) -> [UInt8]? {
        let target = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 1)
        defer { target.deallocate() }
        var bytes: [UInt8] = []
        for _ in 0..<100_000 where bytes.count < limit {
            switch feed.read(into: target, min(room, limit - bytes.count)) {
            case .bytes(0): return bytes
            case .bytes(let count): bytes.append(contentsOf: UnsafeRawBufferPointer(start: target, count: count))
            case .wait: usleep(200)
            case .failed, .push: return nil
            }
        }
        return bytes
    }

    @Test(arguments: Cache.allCases)
    func handsOutARangeBetweenTwoTexts(cache: Cache) throws {
        let payload = Payload.framed(head: Array("<<".utf8), offset: 3, length: 200_000, tail: Array(">>>".utf8))
        let feed = feed(payload, try open(), cache: cache)
        feed.start {}
        #expect(feed.length == 200_005)
        #expect(drain(feed) == Array("<<".utf8) + content[3..<200_003] + Array(">>>".utf8))
        feed.end()
        #expect(buffers.lentBytes == 0)
    }

    @Test(arguments: Cache.allCases)
    func goesBackAndForthAnywhere(cache: Cache) throws {
        let payload = Payload.framed(head: Array("head".utf8), offset: 0, length: 300_001, tail: Array("tail".utf8))
        let whole = Array("head".utf8) + content + Array("tail".utf8)
        let feed = feed(payload, try open(), cache: cache)
        feed.start {}
        for offset in [0, 100_000, 2, 0, 4, 300_005, 300_007, 299_999, 300_009, 65_540] {
            #expect(feed.seek(to: Int64(offset)))
            #expect(drain(feed, limit: min(70_000, whole.count - offset)) == Array(whole[offset...].prefix(70_000)))
        }
        #expect(!feed.seek(to: -1))
        #expect(!feed.seek(to: Int64(whole.count + 1)))
        feed.end()
    }

    @Test(arguments: [
        (100, BufferPool.smallSize), (5, BufferPool.smallSize), (1, 2 * BufferPool.largeSize),
    ])
    func takesOneSmallBufferOrTwoLargeOnesAndGivesThemBack(uploads: Int, most: Int) throws {
        let size = 3_000_001
        try folder.write("file", pattern(size))
        let files = FileSide(journal: nil, bufferBound: 4_194_304)
        let buffers = files.buffers
        let feed = feed(.source(offset: 0, length: ByteCount(Int64(size))), try open(), files, uploads: uploads)
        feed.start {}
        for end in stride(from: 10_000, to: size, by: 10_000) {
            #expect(drain(feed, limit: 10_000)?.count == 10_000)
            #expect(buffers.lentBytes <= most, "\(end)")
        }
        feed.end()
        // A piece may still be on its way from the disk.
        for _ in 0..<1000 where buffers.lentBytes > 0 { usleep(1000) }
        #expect(buffers.lentBytes == 0)
    }

    @Test func waitsForABufferWhereNoneIsFree() throws {
        let files = FileSide(journal: nil, bufferBound: ByteCount(Int64(BufferPool.smallSize)))
        let tight = files.buffers
        let taken = try #require(tight.acquire(.small))
        let feed = feed(.source(offset: 0, length: 10), try open(), files)
        let calls = Notes<Int>()
        feed.start { calls.add(1) }
        let target = UnsafeMutableRawPointer.allocate(byteCount: 10, alignment: 1)
        defer { target.deallocate() }
        #expect(feed.read(into: target, 10) == .wait)
        tight.onFreed { feed.prefetch() }
        tight.release(taken)
        for _ in 0..<5000 where calls.all.isEmpty { usleep(1000) }
        #expect(feed.read(into: target, 10) == .bytes(10))
        feed.end()
    }

    @Test func whatThePageCacheHasNeedsNoBuffer() throws {
        let none = FileSide(journal: nil, bufferBound: 0)
        let feed = feed(.source(offset: 1, length: 300_000), try open(), none, cache: .everything)
        feed.start {}
        #expect(drain(feed) == Array(content[1...]))
        feed.end()
    }

    @Test func thePageCacheIsAskedAgainAfterSomePieces() throws {
        let size = 2 * (PayloadFeed.piecesAtATime + 2) * BufferPool.smallSize
        try folder.write("file", pattern(size))
        let asked = Guarded([Int64]())
        files.uploads.withLock { $0 = 4 }
        let feed = PayloadFeed(
            .source(offset: 0, length: ByteCount(Int64(size))), source: try open(), files: files
        ) { _, _, _, offset in
            asked.withLock { $0.append(offset) }
            return nil
        }
        feed.start {}
        #expect(drain(feed, room: 50_000) == pattern(size))
        let step = Int64(PayloadFeed.piecesAtATime * BufferPool.smallSize)
        #expect(asked.withLock { $0 } == [0, step, 2 * step])
        feed.end()
    }

    @Test(arguments: [0, 299_000], [Cache.nothing, .everything])
    func stopsAtAnotherVersion(read: Int, cache: Cache) throws {
        let source = try open()
        let feed = feed(.source(offset: 0, length: 300_001), source, cache: cache)
        if read > 0 { #expect(truncate(folder.file("file"), off_t(read)) == 0) }
        if read == 0 { try folder.write("file", pattern(300_001, seed: 3)) }
        feed.start {}
        #expect(drain(feed) == nil)
        let target = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
        defer { target.deallocate() }
        guard case .failed(.stopped(.failure(let error, nil))) = feed.read(into: target, 1) else {
            throw TestFailure("no failure")
        }
        #expect(error.code == .sourceChanged)
        feed.end()
        #expect(buffers.lentBytes == 0)
    }
}
