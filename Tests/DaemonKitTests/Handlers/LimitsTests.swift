import JSONRPC
import Testing
import TransferCore
import TransferModel
import TransferRPC

@testable import DaemonKit

/// docs/protocol.md lists `Bounds`. Other layers must count by the same limits.
struct LimitsTests {
    @Test func theWireHasTheLimitsThatTheDocumentLists() {
        let limits = RPCLimits()
        #expect(limits.line == Bounds.line)
        #expect(limits.batch == Bounds.batch)
        #expect(limits.inFlight == Bounds.requestsInFlight)
        #expect(limits.outgoing == Bounds.waitingAnswers)
        #expect(limits.laterLine == Bounds.waitingEvent)
        #expect(limits.outgoingPerUser == Bounds.waitingAnswersOfUser)
        #expect(limits.unfinishedLines == Bounds.unfinishedLines)
        #expect(limits.unfinishedLinesPerUser == Bounds.unfinishedLinesOfUser)
        #expect(EventFeed.Limits().subscriptionsPerClient == Bounds.subscriptions)
        let nested = { (depth: Int) in
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(throws: Never.self) { try JSONTape(nested(Bounds.nesting)) }
        #expect(throws: (any Error).self) { try JSONTape(nested(Bounds.nesting + 1)) }
    }

    /// A task that may be added can also be sent: its longest members fit into a line together with others.
    @Test func theLongestMembersFitIntoALine() {
        let digest = String(repeating: "f", count: DigestAlgorithm.sha256.hexLength)
        #expect((digest.utf8.count + 3) * Bounds.pieces < Bounds.line / 2)
        #expect(Bounds.headerBytes + Bounds.formFieldBytes + Bounds.metadataBytes < Bounds.line / 2)
        #expect(Bounds.url * Bounds.mirrors < Bounds.line / 2)
        #expect(Bounds.pageBytes < Bounds.waitingAnswers / 2)
    }
}
