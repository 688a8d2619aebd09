import CLinux
import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// One sync makes many files durable, and only durable bytes are reported.
@Suite struct SyncRoundTests {
    /// Files that were written but not synced.
    private struct Files {
        let folder: TemporaryFolder
        let threads: DeviceThreads
        var sinks: [PartSink] = []
        var observers: [Observer] = []

        init(_ count: Int, written: Int = 1000) throws {
            folder = try TemporaryFolder()
            let files = FileSide(journal: nil, bufferBound: 1_048_576)
            threads = files.devices.threads(for: try PartFile.create(path: folder.file("first")).device)
            _ = files.crowd.note(count + Crowd.begins)
            for number in 0..<count {
                let observer = Observer()
                let board = PartBoard(
                    part: try PartFile.create(path: folder.file("\(number)")), alone: .zero,
                    context: TransferContext(
                        task: TaskID(Int64(number)), session: .shared(of: UserID(1)), counters: TransferCounters(),
                        observer: observer),
                    files: files)
                let sink = board.sink(Acceptance(offset: .zero, total: 4000)) {}
                sink.begin()
                sinks.append(sink)
                observers.append(observer)
                write(written, to: sink)
            }
        }

        func write(_ count: Int, to sink: PartSink) { sink.append(pattern(count), count) }

        /// The offsets above 0 that were reported for each file.
        var told: [[Int64]] {
            observers.map { $0.heard.checkpoints.map(\.offset.rawValue).filter { $0 > 0 } }
        }

        /// Makes each sync of this file fail.
        func spoil(_ number: Int) {
            let descriptor = open("/dev/null", O_RDWR | O_CLOEXEC)
            #expect(dup2(descriptor, sinks[number].part.fileDescriptor) >= 0)
            close(descriptor)
        }
    }

    private var isSupported: Bool {
        get throws {
            let files = try Files(1)
            return dld_reports_whole_syncs(files.sinks[0].part.fileDescriptor) != 0
        }
    }

    @Test func nothingIsToldBeforeTheSyncAndOnlyWhatWasWrittenBefore() throws {
        guard try isSupported else { return }
        let files = try Files(SyncChoice.fewestFiles)
        var syncs = 0
        files.threads.round.synchronize { descriptor in
            syncs += 1
            #expect(files.sinks[0].part.fileDescriptor == descriptor)
            #expect(files.told.allSatisfy { $0.isEmpty })
            files.write(500, to: files.sinks[3])
            return 0
        }
        #expect(syncs == 1)
        #expect(files.told == Array(repeating: [1000], count: SyncChoice.fewestFiles))
        // The next file has only the bytes since the sync. They are too few for a sync of everything.
        files.threads.round.synchronize { _ in
            Issue.record("one file is synced by itself")
            return 0
        }
        try wait { files.told[3] == [1000, 1500] }
        #expect(files.told.filter { $0 == [1000] }.count == SyncChoice.fewestFiles - 1)
    }

    @Test func afterAFailureEachFileIsAskedByItself() throws {
        guard try isSupported else { return }
        let files = try Files(SyncChoice.fewestFiles + 1)
        files.spoil(5)
        files.threads.round.synchronize { _ in
            errno = EIO
            return -1
        }
        try wait { files.sinks[5].failure != nil && files.told.filter { $0 == [1000] }.count == files.sinks.count - 1 }
        #expect(files.sinks[5].failure == LocalFailure("fdatasync", errno: EINVAL))
        #expect(files.told[5].isEmpty)
        #expect(files.sinks.allSatisfy { $0 === files.sinks[5] || $0.failure == nil })
    }

    @Test func aFileThatEndsOrFailedTakesNoPart() throws {
        let files = try Files(3)
        files.sinks[0].fail(LocalFailure("pwrite", errno: EIO))
        files.sinks[1].finish(syncing: false) { _ in }
        #expect(files.sinks[0].board.joinRound(at: 1) == nil)
        #expect(files.sinks[1].board.joinRound(at: 1) == nil)
        #expect(files.sinks[2].board.joinRound(at: 1) != nil)
        // Only one at a time.
        #expect(files.sinks[2].board.joinRound(at: 2) == nil)
    }

    @Test func twoRoundsNeverOverlap() throws {
        let round = SyncRound(ledger: SinkLedger())
        #expect(round.begin())
        #expect(!round.begin())
        round.synchronize()
        #expect(round.begin())
    }

    private func wait(_ condition: () -> Bool) throws {
        for _ in 0..<30_000 {
            if condition() { return }
            usleep(1000)
        }
        throw TestFailure("never came true")
    }
}

@Suite struct SyncChoiceTests {
    @Test func fewFilesAreSyncedByThemselves() {
        let choice = SyncChoice()
        #expect(choice.way(files: SyncChoice.fewestFiles - 1, at: 0) { true } == .each)
        #expect(choice.way(files: SyncChoice.fewestFiles, at: 0) { true } == .whole)
    }

    @Test func whatDoesNotTellOfFailuresIsNeverTrusted() {
        #expect(SyncChoice().way(files: 5000, at: 0) { false } == .each)
    }

    /// Another program writes gigabytes to the same disk. The engine does not wait for those bytes every second.
    @Test func aSlowSyncOfEverythingIsNotRepeatedSoon() {
        var choice = SyncChoice()
        choice.took(SyncChoice.patience, at: 10)
        #expect(choice.way(files: 100, at: 10) { true } == .whole)
        choice.took(SyncChoice.patience + 1, at: 10)
        #expect(choice.way(files: 100, at: 10) { true } == .each)
        #expect(choice.way(files: 100, at: 9 + SyncChoice.rest) { true } == .each)
        #expect(choice.way(files: 100, at: 10 + SyncChoice.rest) { true } == .whole)
    }
}
