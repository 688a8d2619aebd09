import CLinux
import Glibc
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct PartBoardTests {
    /// A part file with a board. The test drives the sinks itself.
    private struct Table {
        let bench: Bench
        let part: PartFile
        let journalPath: String
        let files: FileSide
        let board: PartBoard
        let total: ByteCount = 1_000_000
        let bytes = pattern(1_000_000)

        init(slots: Int = 8) throws {
            bench = try Bench()
            part = try bench.part()
            journalPath = bench.folder.file("offsets")
            files = FileSide(
                journal: try OffsetJournal(path: journalPath, slots: slots), bufferBound: 1_048_576)
            board = PartBoard(part: part, checkpoint: nil, context: Self.context(bench), files: files)
        }

        static func context(_ bench: Bench) -> TransferContext {
            TransferContext(
                task: bench.task, session: bench.session, counters: bench.counters, observer: bench.observer)
        }

        func sink(from offset: Int64) -> PartSink {
            let acceptance = Acceptance(
                offset: ByteCount(offset), truncate: offset == 0, total: total,
                validators: Validators(etag: "\"a\""))
            let sink = board.sink(acceptance) {}
            sink.begin()
            return sink
        }

        func write(_ count: Int, to sink: PartSink) {
            let offset = Int(sink.now.written)
            bytes.withUnsafeBytes { sink.append($0.baseAddress.map { $0 + offset }, count) }
        }

        func end(_ sink: PartSink) async -> PartSink.Ending {
            await withCheckedContinuation { continuation in
                sink.finish(syncing: true) { continuation.resume(returning: $0) }
            }
        }

        /// What another daemon finds if this one is killed here.
        func afterKill(_ stored: Checkpoint) throws -> Checkpoint? {
            try PartFile.recover(
                stored, task: bench.task, journal: OffsetJournal(path: journalPath, slots: 8))?.checkpoint
        }

        var stored: Checkpoint {
            Checkpoint(
                offset: 0, total: total, validators: Validators(etag: "\"a\""), partPath: part.path,
                device: part.device, inode: part.inode)
        }
    }

    /// The sink of the first part failed before the second sink arrived, so nobody wrote the bytes before the second
    /// part.
    @Test func aPartThatComesFirstVouchesForNothingBeforeIt() async throws {
        let table = try Table()
        let second = table.sink(from: 400_000)
        table.write(100_000, to: second)
        _ = await table.end(second)
        await table.board.finish(syncing: true)
        #expect(table.board.written == ByteRangeSet([ByteRange(400_000, 500_000)]))
        let told = table.bench.observer.heard
        #expect(told.files.map(\.offset) == [0])
        #expect(told.checkpoints.last?.offset == 0)
        #expect(told.checkpoints.last?.ranges == [ByteRange(400_000, 500_000)])
    }

    /// The first answer may lack the length, and the answer to a resumption may give it. Both are of one version.
    @Test func aLengthThatIsLearnedLaterIsNoOtherVersion() async throws {
        let table = try Table()
        var stored = table.stored
        stored.total = nil
        let journal = try OffsetJournal(path: table.journalPath, slots: 8)
        let slot = try #require(journal.claim(table.bench.task))
        let boot = try #require(journal.boot)
        try table.part.write(Array(table.bytes[..<3000]))
        journal.write(
            JournalEntry(
                task: table.bench.task, device: table.part.device, inode: table.part.inode,
                identity: JournalEntry.identity(of: stored), start: 0, base: 3000, offset: 3000, crc: 0, boot: boot),
            to: slot)
        stored.total = table.total
        #expect(try table.afterKill(stored)?.offset == 3000)
    }

    @Test func aRoundSpeaksOfWhatWasWrittenWhenItBegan() throws {
        let table = try Table()
        let now = dld_monotonic_nanoseconds()
        #expect(table.board.joinRound(at: now) == nil)
        let (first, second) = (table.sink(from: 0), table.sink(from: 500_000))
        table.write(10_000, to: first)
        table.write(20_000, to: second)
        let share = try #require(table.board.joinRound(at: now))
        // Not twice at the same time.
        #expect(table.board.joinRound(at: now) == nil)
        table.write(5000, to: second)
        share.synced()
        let checkpoint = try #require(table.bench.observer.heard.checkpoints.last)
        #expect(checkpoint.offset == 10_000)
        #expect(checkpoint.ranges == [ByteRange(500_000, 520_000)])
        #expect(second.now.durable == 520_000)
        #expect(table.board.joinRound(at: now) != nil)
    }

    /// The end of a board needs only numbers. A sink would keep its transfer alive, and the transfer would keep the
    /// board alive.
    @Test func aBoardKeepsNoSinksBeyondItsEnd() async throws {
        let table = try Table()
        weak var kept: PartSink?
        do {
            let sink = table.sink(from: 0)
            kept = sink
            table.write(10_000, to: sink)
            _ = await withCheckedContinuation { continuation in
                sink.finish(syncing: false) { continuation.resume(returning: $0) }
            }
        }
        await table.board.finish(syncing: false)
        #expect(table.board.written == ByteRangeSet([ByteRange(0, 10_000)]))
        #expect(table.board.received == 10_000)
        // The writer's thread may still hold the sink for a moment.
        for _ in 0..<5000 where kept != nil { try await Task.sleep(for: .milliseconds(2)) }
        #expect(kept == nil)
    }

    @Test func oneCheckpointSpeaksOfAll() throws {
        let table = try Table()
        let (first, second) = (table.sink(from: 0), table.sink(from: 500_000))
        table.write(10_000, to: first)
        table.write(20_000, to: second)
        table.board.synchronize()
        table.write(5000, to: second)
        let checkpoint = try #require(table.bench.observer.heard.checkpoints.last)
        #expect(checkpoint.offset == 10_000 && checkpoint.ranges == [ByteRange(500_000, 520_000)])
        #expect(checkpoint.total == table.total && checkpoint.validators.etag == "\"a\"")
        #expect(table.bench.counters.bytesReceived == 35_000 && table.board.received == 35_000)
    }

    @Test func aKillLosesNothingThatWasWritten() async throws {
        let table = try Table()
        let sinks = [Int64(0), 300_000, 600_000].map(table.sink)
        for sink in sinks { table.write(50_000, to: sink) }
        table.board.synchronize()
        for sink in sinks { table.write(7000, to: sink) }
        #expect(await table.end(sinks[1]).offset == 357_000)
        table.write(1000, to: sinks[2])
        // The checkpoint of the sync had not reached the store either.
        let found = try #require(try table.afterKill(table.stored))
        #expect(found.offset == 57_000)
        #expect(found.ranges == [ByteRange(300_000, 357_000), ByteRange(600_000, 658_000)])
    }

    @Test func whatTheDiskLostIsNotBelieved() throws {
        let table = try Table()
        let sinks = [Int64(0), 300_000].map(table.sink)
        for sink in sinks { table.write(50_000, to: sink) }
        table.board.synchronize()
        let checkpoint = try #require(table.bench.observer.heard.checkpoints.last)
        for sink in sinks { table.write(7000, to: sink) }
        let hole = [UInt8](repeating: 0, count: 100)
        #expect(pwrite(table.part.fileDescriptor, hole, 100, 352_000) == 100)
        let found = try #require(try table.afterKill(checkpoint))
        #expect(found.offset == 57_000 && found.ranges == [ByteRange(300_000, 350_000)])
    }

    @Test func anotherVersionInTheJournalBeginsAnew() throws {
        let table = try Table()
        table.write(1000, to: table.sink(from: 0))
        table.write(1000, to: table.sink(from: 5000))
        var other = table.stored
        other.validators.etag = "\"b\""
        #expect(try table.afterKill(other) == nil)
    }

    /// Segments that touch share a slot once they are durable, so a file with many parts does not use up the journal.
    @Test func manyPartsNeedFewSlots() async throws {
        let table = try Table(slots: 4)
        for number in 0..<50 {
            let sink = table.sink(from: Int64(number) * 10_000)
            table.write(10_000, to: sink)
            _ = await table.end(sink)
            table.board.synchronize()
        }
        let found = try #require(try table.afterKill(table.stored))
        #expect(found.offset == 500_000 && found.ranges.isEmpty)
    }

    @Test func aFailedSyncTakesAllBackToTheLastCheckpoint() async throws {
        let table = try Table()
        let sinks = [Int64(0), 300_000].map(table.sink)
        for sink in sinks { table.write(50_000, to: sink) }
        table.board.synchronize()
        for sink in sinks { table.write(7000, to: sink) }
        #expect(await table.end(sinks[0]).offset == 57_000)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        #expect(dup2(null, table.part.fileDescriptor) >= 0)
        close(null)
        table.board.synchronize()
        #expect(sinks[1].failure?.operation == "fdatasync")
        #expect(await table.end(sinks[1]).offset == 350_000)
        #expect(table.board.written.ranges == [ByteRange(0, 50_000), ByteRange(300_000, 350_000)])
        await table.board.finish(syncing: true)
        let last = try #require(table.bench.observer.heard.checkpoints.last)
        #expect(last.offset == 50_000 && last.ranges == [ByteRange(300_000, 350_000)])
    }

    @Test func finishingMakesTheRestDurable() async throws {
        let table = try Table()
        let sinks = [Int64(0), 300_000].map(table.sink)
        for sink in sinks {
            table.write(50_000, to: sink)
            _ = await table.end(sink)
        }
        await table.board.finish(syncing: true)
        let last = try #require(table.bench.observer.heard.checkpoints.last)
        #expect(last.offset == 50_000 && last.ranges == [ByteRange(300_000, 350_000)])
    }

    @Test func aNewVersionForgetsTheOld() throws {
        let table = try Table()
        table.write(1000, to: table.sink(from: 0))
        table.write(1000, to: table.sink(from: 5000))
        _ = table.sink(from: 0)
        #expect(table.board.received == 0 && table.board.written.ranges.isEmpty)
        #expect(try table.afterKill(table.stored)?.held == 0)
    }
    /// When the disk refuses a write with EIO, the bytes of earlier writes may be lost too. A sync of the other sinks
    /// does not prove that they are durable.
    @Test func whatASickDiskTookIsNotCalledDurable() throws {
        let table = try Table()
        let sinks = [Int64(0), 300_000].map(table.sink)
        for sink in sinks { table.write(50_000, to: sink) }
        sinks[1].fail(LocalFailure("pwrite", errno: EIO))
        table.board.synchronize()
        let last = try #require(table.bench.observer.heard.checkpoints.last)
        #expect(last.offset == 50_000 && last.ranges.isEmpty)
        #expect(sinks[1].now.durable == 300_000)
    }

    /// The disk does not answer, so the writer never reaches the end.
    @Test func whoIsAbandonedEndsOnceAndWithWhatIsDurable() async throws {
        let table = try Table()
        let sink = table.sink(from: 0)
        table.write(50_000, to: sink)
        table.board.synchronize()
        table.write(7000, to: sink)
        let ends = Guarded<[Int64]>([])
        let finishes = Guarded(0)
        sink.state.finishing = { ending in ends.withLock { $0.append(ending.offset) } }
        table.board.finish(syncing: true) { finishes.withLock { $0 += 1 } }
        #expect(finishes.withLock { $0 } == 0)
        table.board.abandon()
        sink.end()
        #expect(ends.withLock { $0 } == [50_000])
        #expect(finishes.withLock { $0 } == 1)
    }

    /// Bytes of an answer that was replaced no longer count, although the writer still has some of them.
    @Test func bytesOfAnAnswerThatWasReplacedDoNotCount() throws {
        let table = try Table()
        let old = table.sink(from: 300_000)
        table.write(1000, to: old)
        _ = table.sink(from: 0)
        table.write(1000, to: old)
        table.board.synchronize()
        #expect(table.board.received == 0)
        #expect(table.bench.observer.heard.checkpoints.last?.held == 0)
    }
}
