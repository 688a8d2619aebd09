import Foundation
import Glibc
import Logging
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import DaemonSetup

/// A clock that stands still.
private struct StandingTime: TimeSource {
    func reading() -> ClockReading { ClockReading(wall: Timestamp(milliseconds: 1_700_000_000_000), boot: 1_000_000) }
}

@Suite struct JournalSocketTests {
    /// Returns the fields of a datagram as the journal reads them.
    private func fields(_ datagram: [UInt8]) -> [String: String] {
        var fields: [String: String] = [:]
        var rest = datagram[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let name = String(decoding: rest[..<end], as: UTF8.self)
            let length = rest[(end + 1)..<(end + 9)].reversed().reduce(0) { $0 << 8 | Int($1) }
            let value = rest[(end + 9)..<(end + 9 + length)]
            fields[name] = String(decoding: value, as: UTF8.self)
            rest = rest[(end + 10 + length)...]
        }
        return fields
    }

    @Test func fieldsHaveTheirLengths() {
        let entry = JournalEntry(fields: [("MESSAGE", "a\nPRIORITY=0"), ("DLD_TASK", "7")])
        #expect(fields(entry.datagram) == ["MESSAGE": "a\nPRIORITY=0", "DLD_TASK": "7"])
    }

    @Test(arguments: [
        ("task", "DLD_TASK"), ("fileName", "DLD_FILE_NAME"), ("a b=\n", "DLD_A_B__"), ("FLEET_JOB", "FLEET_JOB"),
    ])
    func fieldNamesAreTheJournals(key: String, name: String) { #expect(JournalEntry.fieldName(of: key) == name) }

    @Test func whatHasFieldsGoesToTheJournalAndTheRestToStandardError() throws {
        let folder = try TemporaryFolder()
        let journal = try #require(BoundSocket(folder.file("journal"), type: SOCK_DGRAM))
        let pipe = Pipe()
        let destination = LogDestination(
            sink: LogSink(
                descriptor: pipe.fileHandleForWriting.fileDescriptor,
                journal: DatagramSocket(folder.file("journal"))),
            format: .journal, level: .info)
        let logger = destination.logger()
        logger.warning("failed", metadata: ["task": "7", "code": "http.status", "url": "https://a/\n\u{1b}[31m"])
        logger.info("plain")
        logger.critical("cannot run", metadata: ["error": "gone"])
        destination.sink.flush(milliseconds: 10000)
        let entry = fields(Array(try #require(journal.receive()).utf8))
        #expect(entry["PRIORITY"] == "4" && entry["SYSLOG_IDENTIFIER"] == "dld")
        #expect(entry["DLD_TASK"] == "7" && entry["DLD_CODE"] == "http.status")
        #expect(entry["DLD_URL"] == "https://a/\\n\\u{1b}[31m")
        #expect(entry["MESSAGE"] == "failed code=http.status task=7 url=https://a/\\n\\u{1b}[31m")
        let stream = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        #expect(stream == "<6>plain\n<2>cannot run error=gone\n")
    }

    @Test func withoutAJournalTheLineGoesToStandardError() throws {
        let folder = try TemporaryFolder()
        let pipe = Pipe()
        let destination = LogDestination(
            sink: LogSink(
                descriptor: pipe.fileHandleForWriting.fileDescriptor, journal: DatagramSocket(folder.file("none"))),
            format: .journal, level: .info)
        destination.logger().warning("failed", metadata: ["task": "7"])
        destination.sink.flush(milliseconds: 10000)
        #expect(String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self) == "<4>failed task=7\n")
    }

    /// The journal may look for the process after the process has ended, and would not find its unit.
    @Test func whatIsToldAtTheEndGoesToStandardError() throws {
        let folder = try TemporaryFolder()
        let journal = try #require(BoundSocket(folder.file("journal"), type: SOCK_DGRAM))
        let pipe = Pipe()
        let destination = LogDestination(
            sink: LogSink(
                descriptor: pipe.fileHandleForWriting.fileDescriptor,
                journal: DatagramSocket(folder.file("journal"))),
            format: .journal, level: .info, time: StandingTime())
        for _ in 0..<15 { destination.logger().warning("failed", metadata: ["code": "network.dns", "owner": "7"]) }
        destination.writeLast()
        for _ in 0..<LogRepeats.most { #expect(journal.receive()?.contains("DLD_OWNER") == true) }
        destination.sink.flush(milliseconds: 10000)
        let stream = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        #expect(stream.hasPrefix("<4>failed: 5 more code=network.dns count=5 owner=7 since="))
        #expect(stream.hasSuffix(" total=15\n"))
    }
}
