import Testing
import TransferModel

@testable import DaemonKit

struct RunFiguresTests {
    @Test func bytesOfEarlierRunsDoNotCount() {
        var figures = RunFigures()
        figures.holds(40)
        #expect(figures.bytesTransferred(at: 40) == 0)
        figures.accepted(at: 40, canResume: true)
        #expect(figures.bytesTransferred(at: 55) == 15)
        #expect(figures.resumedFrom == 40)
    }

    /// An answer may begin beyond what is held. A negative difference does not count.
    @Test func anOffsetBeforeTheFirstByteCountsNothing() {
        var figures = RunFigures()
        figures.accepted(at: 40, canResume: false)
        #expect(figures.bytesTransferred(at: 0) == 0)
        #expect(!figures.canResume)
    }

    @Test func whatIsTransferredAgainCountsTwice() {
        var figures = RunFigures()
        figures.accepted(at: 40, canResume: true)
        figures.sends(from: 7)
        figures.restarted(received: 55, sent: 10)
        #expect(figures.bytesTransferred(at: 0) == 15)
        #expect(figures.bytesTransferred(at: 5) == 20)
        #expect(figures.bytesUploaded(at: 0) == 3)
        #expect(figures.resumedFrom == nil)
    }

    @Test func anUploadResumesWhereTheServerSays() {
        var figures = RunFigures()
        figures.sends(from: 7)
        #expect(figures.resumedFrom == 7)
        figures.sends(from: 0)
        #expect(figures.resumedFrom == nil)
    }

    @Test func theRateIsOfTheLastSamples() {
        var figures = RunFigures()
        #expect(figures.rate == 0)
        figures.sample(bytes: 0, at: 1000)
        figures.sample(bytes: 500, at: 1500)
        #expect(figures.rate == 1000)
    }
}
