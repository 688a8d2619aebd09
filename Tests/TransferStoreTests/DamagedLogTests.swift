import Foundation
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// The log as a killed daemon leaves it, with one byte or some sectors changed.
@Suite struct DamagedLogTests {
    private static let headerSize = 32
    private static let frameSize = 24 + 4096
    private static let sector = 512

    let fixture = Fixture()
    private var log: String { fixture.database + "-wal" }

    /// Makes transactions and leaves the files as a killed daemon does. The schema is not in the log.
    /// - Parameters:
    ///   - copied: how many transactions a checkpoint copies into the database, and `change` with them.
    private func leaveLog(
        copied: Int = 0, transactions: Int = 6, keepsIndex: Bool = false,
        change: (TransferStore) throws -> Void = { _ in }
    ) async throws {
        if access(fixture.folder, F_OK) != 0 { try fixture.open().close() }
        let away = fixture.folder + ".copy"
        let store = try fixture.open()
        // A reader keeps SQLite from beginning the log anew after the checkpoint.
        let reader = try Connection(fixture.database, .reading)
        for number in 0..<transactions {
            if number == copied {
                try change(store)
                try reader.execute("BEGIN")
                _ = try reader.integer("SELECT count(*) FROM task")
            }
            try await store.add(newTask(url: "https://example.org/\(number)"))
        }
        if copied > 0 { try store.database.write { try $0.execute("PRAGMA wal_checkpoint(PASSIVE)") } }
        try FileManager.default.copyItem(atPath: fixture.folder, toPath: away)
        reader.close()
        store.close()
        try FileManager.default.removeItem(atPath: fixture.folder)
        try FileManager.default.moveItem(atPath: away, toPath: fixture.folder)
        if !keepsIndex { unlink(fixture.database + "-shm") }
    }

    private func content() throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: log))) }

    private func put(_ content: [UInt8]) throws { try Data(content).write(to: URL(fileURLWithPath: log)) }

    /// The numbers of the frames that end a transaction of the log.
    private func commits(_ content: [UInt8]) -> [Int] {
        let salts = content[16..<24]
        return (0..<(content.count - Self.headerSize) / Self.frameSize).filter { number in
            let start = Self.headerSize + number * Self.frameSize
            return content[start + 8..<start + 16] == salts && content[start + 4..<start + 8].contains { $0 != 0 }
        }
    }

    private func place(of frame: Int) -> Int { Self.headerSize + frame * Self.frameSize }

    /// Tasks that SQLite finds in a copy of the files.
    private func tasksThatAreRead() throws -> Int64? {
        let copy = try TemporaryFolder()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: fixture.database + suffix, toPath: copy.file("dld.sqlite") + suffix)
        }
        let connection = try Connection(copy.file("dld.sqlite"), .writing)
        defer { connection.close() }
        return try connection.integer("SELECT count(*) FROM task")
    }

    @Test func aLogAsItWasLeftIsNotDamaged() async throws {
        try await leaveLog()
        #expect(DamagedLog(of: fixture.database) == nil && DamagedLog(of: fixture.folder + "/nothing") == nil)
        try put([])
        #expect(DamagedLog(of: fixture.database) == nil)
        try put([UInt8](repeating: 0, count: 3 * Self.frameSize))
        #expect(DamagedLog(of: fixture.database) == nil)
    }

    /// SQLite itself is the oracle for what is lost.
    @Test func eachChangedByteOfWhatWasAcknowledgedIsFound() async throws {
        try await leaveLog()
        let whole = try content()
        let ends = commits(whole)
        let known = ends[ends.count - 2]
        #expect(try tasksThatAreRead() == 6)
        for frame in 0...known {
            for byte in [0, 5, 9, 17, 24, Self.frameSize - 1] where frame < known || byte >= 24 {
                var changed = whole
                changed[place(of: frame) + byte] ^= 0x10
                try put(changed)
                let damaged = DamagedLog(of: fixture.database)
                #expect(damaged?.offset == place(of: frame), "byte \(byte) of frame \(frame)")
            }
        }
        var changed = whole
        changed[place(of: ends[ends.count - 4]) + 100] ^= 1
        try put(changed)
        #expect(try tasksThatAreRead() ?? 6 < 6)
    }

    @Test func aChangedHeaderIsFound() async throws {
        try await leaveLog()
        let whole = try content()
        for byte in 0..<Self.headerSize {
            var changed = whole
            changed[byte] ^= 1
            try put(changed)
            #expect(DamagedLog(of: fixture.database)?.offset == 0, "byte \(byte)")
        }
    }

    @Test func manyPagesThatAreGoneAreFound() async throws {
        try await leaveLog()
        var changed = try content()
        let ends = commits(changed)
        for place in place(of: ends[2])..<place(of: ends[ends.count - 3]) { changed[place] = 0 }
        try put(changed)
        #expect(DamagedLog(of: fixture.database)?.offset == place(of: ends[2]))
    }

    /// Of the last transaction, a power loss may leave any sectors. A second one may leave some of the next transaction
    /// in front of them.
    @Test func noPowerLossIsTakenForDamage() async throws {
        var random = SeededGenerator(state: 4)
        for _ in 0..<4 {
            try await leaveLog()
            for _ in 0..<3 {
                let whole = try content()
                let ends = commits(whole)
                let start = place(of: ends[ends.count - 2] + 1)
                let sectors = Array(stride(from: start, to: whole.count, by: Self.sector))
                var cut = whole
                for _ in 0..<60 {
                    cut = whole
                    for sector in sectors where Bool.random(using: &random) {
                        for place in sector..<min(sector + Self.sector, whole.count) { cut[place] = 0 }
                    }
                    try put(cut)
                    #expect(DamagedLog(of: fixture.database) == nil)
                }
                // The next daemon continues after what it can read.
                try await leaveLog(transactions: 2)
            }
            try FileManager.default.removeItem(atPath: fixture.folder)
        }
    }

    /// The index counts every frame that was acknowledged.
    @Test func whatIsCutOffIsFoundByTheIndex() async throws {
        try await leaveLog(keepsIndex: true)
        let whole = try content()
        let ends = commits(whole)
        #expect(DamagedLog(of: fixture.database) == nil)
        for frame in [0, 1, ends[1], ends[ends.count - 1]] {
            try put(Array(whole[..<place(of: frame)]))
            #expect(DamagedLog(of: fixture.database)?.offset == place(of: frame), "cut at frame \(frame)")
            try put(whole[..<place(of: frame)] + [UInt8](repeating: 0, count: whole.count - place(of: frame)))
            #expect(DamagedLog(of: fixture.database)?.offset == place(of: frame), "zeros from frame \(frame)")
        }
        for length in [40, whole.count] {
            try put([UInt8](repeating: 7, count: length))
            #expect(DamagedLog(of: fixture.database)?.offset == 0, "\(length) bytes of another file")
        }
        // As a power loss may leave a log that was begun anew.
        for nothing in [[], [UInt8](repeating: 0, count: whole.count)] {
            try put(nothing)
            #expect(DamagedLog(of: fixture.database) == nil)
        }
        let index = try Data(contentsOf: URL(fileURLWithPath: fixture.database + "-shm"))
        try put(Array(whole[..<place(of: 1)]))
        var torn = index
        torn[16] ^= 1
        try torn.write(to: URL(fileURLWithPath: fixture.database + "-shm"))
        #expect(DamagedLog(of: fixture.database) == nil)
    }

    /// After a power loss, the index may be that of an earlier use of the log.
    @Test func theIndexOfAnEarlierLogProvesNothing() async throws {
        try await leaveLog(keepsIndex: true)
        let index = try Data(contentsOf: URL(fileURLWithPath: fixture.database + "-shm"))
        try fixture.open().close()
        try await leaveLog(transactions: 1)
        try index.write(to: URL(fileURLWithPath: fixture.database + "-shm"))
        #expect(LogIndex(fixture.database + "-shm")?.frames ?? 0 > commits(try content()).count)
        #expect(DamagedLog(of: fixture.database) == nil)
    }

    @Test func theStoreContinuesWithWhatIsBefore() async throws {
        try await leaveLog()
        var changed = try content()
        let ends = commits(changed)
        changed[place(of: ends[ends.count - 4]) + 100] ^= 1
        try put(changed)
        let tasks = try tasksThatAreRead()
        let store = try fixture.open()
        let damage = try #require(store.damage)
        #expect(damage.code == .diskIO && !damage.retryable)
        #expect(
            damage.message
                == "\(log) is damaged at byte \(place(of: ends[ends.count - 4])): tasks and events that were stored after "
                + "that are lost. What was stored before fits together, and dld continues with it.")
        try await store.add(newTask())
        #expect(try store.database.read { try $0.integer("SELECT count(*) FROM task") } == tasks.map { $0 + 1 })
        store.close()
        #expect(try fixture.open().damage == nil)
    }

    /// A checkpoint has copied later pages than those that can be read: rows of tasks without their place in an index.
    @Test func aDatabaseThatDoesNotFitIsTold() async throws {
        let store = try fixture.open()
        _ = try await store.write { try $0.insert(Array(repeating: newTask(), count: 300)) }
        store.close()
        try await leaveLog(copied: 5) { store in
            try store.database.write { writer in
                try writer.write { try $0.execute("UPDATE task SET position = position + 1000 WHERE id % 7 = 0") }
            }
        }
        var changed = try content()
        changed[place(of: commits(changed)[4]) + 100] ^= 1
        try put(changed)
        let damage = try #require(try fixture.open().damage)
        #expect(damage.message.contains("Stop dld and restore the database from a backup"), "\(damage.message)")
    }
}
