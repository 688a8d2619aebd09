import Foundation
import Glibc
import Testing

@testable import DaemonSetup

@Suite struct JournalStreamTests {
    /// Child processes inherit the variable, although their output may go to another file. Both numbers must match.
    @Test func onlyTheVeryStreamCounts() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        var status = stat()
        try #require(fstat(descriptor, &status) == 0)
        let own = "\(status.st_dev):\(status.st_ino)"
        #expect(LogDestination.isJournal(descriptor: descriptor, environment: ["JOURNAL_STREAM": own]))
        #expect(!LogDestination.isJournal(descriptor: descriptor, environment: ["JOURNAL_STREAM": own + "1"]))
        #expect(!LogDestination.isJournal(descriptor: descriptor, environment: [:]))
        #expect(!LogDestination.isJournal(descriptor: -1, environment: ["JOURNAL_STREAM": own]))
    }
}
