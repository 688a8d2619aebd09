import Glibc
import Testing

@testable import CurlEngine

@Suite struct MailboxTests {
    @Test func deliversInOrderAndOnce() throws {
        let mailbox = try #require(Mailbox<Int>())
        for message in 0..<10 { mailbox.post(message) }
        var batch = [99]
        mailbox.collect(into: &batch)
        #expect(batch == Array(0..<10))
        mailbox.collect(into: &batch)
        #expect(batch.isEmpty)
    }

    @Test func signalsTheFirstOfABatchOnly() throws {
        let mailbox = try #require(Mailbox<Int>())
        var count: UInt64 = 0
        for round in 1...2 {
            for message in 0..<5 { mailbox.post(message) }
            #expect(read(mailbox.fileDescriptor, &count, 8) == 8)
            #expect(count == 1, "round \(round)")
            var batch: [Int] = []
            mailbox.collect(into: &batch)
            #expect(batch.count == 5)
        }
    }

    @Test func aClosedOneTakesNothingAndGivesBackTheRest() throws {
        let mailbox = try #require(Mailbox<Int>())
        #expect(mailbox.post(1))
        #expect(mailbox.closeAndCollect() == [1])
        #expect(!mailbox.post(2))
        #expect(mailbox.closeAndCollect().isEmpty)
    }

    @Test func losesNothingFromManyThreads() async throws {
        let mailbox = try #require(Mailbox<Int>())
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask { for index in 0..<1000 { mailbox.post(thread * 1000 + index) } }
            }
        }
        var batch: [Int] = []
        mailbox.collect(into: &batch)
        #expect(batch.sorted() == Array(0..<8000))
    }
}
