import Testing
import TransferModel
import TransferStore

@testable import DaemonKit

struct InvalidationsTests {
    private static let place = CachePlace(UserID(1), "")

    @Test func onlyWhatCameAfterwardsConcerns() {
        var known = Invalidations()
        let first = known.begin()
        known.note("http://a/", Self.place)
        let second = known.begin()
        #expect(known.concern("http://a/", Self.place, since: first))
        #expect(!known.concern("http://a/", Self.place, since: second))
        #expect(!known.concern("http://b/", Self.place, since: first))
        #expect(!known.concern("http://a/", CachePlace(UserID(2), ""), since: first))
        known.note(nil, Self.place)
        #expect(known.concern("http://b/", Self.place, since: second))
        known.end()
        #expect(known.concern("http://a/", Self.place, since: first))
        known.end()
        #expect(!known.concern("http://a/", Self.place, since: known.begin()))
    }

    /// Any number is possible: if there are too many, everything counts as invalidated.
    @Test func manyAreRememberedTogether() {
        var known = Invalidations()
        let begin = known.begin()
        for number in 0..<5000 { known.note("http://a/\(number)", Self.place) }
        let later = known.begin()
        #expect(known.concern("http://a/0", Self.place, since: begin))
        #expect(known.concern("http://a/4999", Self.place, since: begin))
        #expect(!known.concern("http://a/4999", Self.place, since: later))
    }
}
