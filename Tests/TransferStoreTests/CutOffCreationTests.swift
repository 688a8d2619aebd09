import Foundation
import Testing
import TransferModel

@testable import TransferStore

/// The files that a daemon leaves if it dies while it creates the database.
@Suite struct CutOffCreationTests {
    private static let pageSize = 4096
    private let fixture = Fixture()
    private var database: String { fixture.folder + "/dld.sqlite" }
    private var journal: String { database + "-journal" }

    /// Creates a database whose first page was being changed when the process died. The journal has the old page.
    /// - Parameter isWhole: False if only a part of the journal's header was written and the page did not change yet.
    private func makeCutOff(pagesBefore: UInt32, sql: String, isWhole: Bool = true) throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let queue = try Connection(database)
        try queue.execute("PRAGMA auto_vacuum = INCREMENTAL; \(sql)")
        queue.close()
        var content = [UInt8](try Data(contentsOf: URL(fileURLWithPath: database)))
        let page = Array(content[..<Self.pageSize])
        try #require(content.count >= Self.pageSize * Int(pagesBefore))
        var kept = Self.journal(of: page, pagesBefore: pagesBefore)
        if isWhole {
            content.replaceSubrange(100..<200, with: repeatElement(0xff, count: 100))
        } else {
            kept.replaceSubrange(6..<12, with: repeatElement(0, count: 6))
        }
        try Data(content).write(to: URL(fileURLWithPath: database))
        try Data(kept).write(to: URL(fileURLWithPath: journal))
    }

    /// One sector with the header, then the page between its number and its checksum.
    private static func journal(of page: [UInt8], pagesBefore: UInt32) -> [UInt8] {
        var bytes: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        for number in [1, 0, pagesBefore, 512, UInt32(pageSize)] { bytes += bigEndian(number) }
        bytes += [UInt8](repeating: 0, count: 512 - bytes.count)
        let sum = stride(from: pageSize - 200, to: 0, by: -200).reduce(UInt32(0)) { $0 &+ UInt32(page[$1]) }
        return bytes + bigEndian(1) + page + bigEndian(sum)
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        stride(from: UInt32(24), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    @Test func aCreationThatWasCutOffIsBegunAnew() async throws {
        try makeCutOff(pagesBefore: 1, sql: "PRAGMA user_version = 0; VACUUM")
        let store = try fixture.open()
        let id = try await store.add(newTask())
        #expect(try await store.read { try $0.task(id) } != nil)
        #expect(!FileManager.default.fileExists(atPath: journal))
    }

    /// The process died in the middle of the write that makes the journal valid.
    @Test func soIsOneWhoseJournalWasNotFinished() async throws {
        try makeCutOff(pagesBefore: 1, sql: "PRAGMA user_version = 0; VACUUM", isWhole: false)
        let store = try fixture.open()
        _ = try await store.add(newTask())
    }

    @Test func anotherProgramsDatabaseIsLeftAsItIs() throws {
        try makeCutOff(pagesBefore: 3, sql: "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
        let before = try [database, journal].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        #expect(throws: TransferError.self) { _ = try fixture.open() }
        #expect(try [database, journal].map { try Data(contentsOf: URL(fileURLWithPath: $0)) } == before)
    }
}
