import Testing

@testable import DaemonSetup

@Suite struct SuggestionTests {
    @Test func theNearestNameIsFound() {
        let names = ["logLevel", "session.retry.attempts", "socket"]
        #expect(Suggestion.nearest(to: "loglevel", among: names) == "logLevel")
        #expect(Suggestion.nearest(to: "atempts", among: names) == "session.retry.attempts")
        #expect(Suggestion.nearest(to: "sockets", among: names) == "socket")
    }

    @Test func nothingIsSuggestedWhereNothingIsNear() {
        #expect(Suggestion.nearest(to: "bandwidth", among: ["logLevel", "socket"]) == nil)
        #expect(Suggestion.nearest(to: "x", among: []) == nil)
        #expect(Suggestion.nearest(to: "session.schedule", among: ["session.caFile", "session.retry.attempts"]) == nil)
    }

    @Test(arguments: [("", "", 0), ("abc", "", 3), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)])
    func distanceCountsEdits(a: String, b: String, distance: Int) {
        #expect(Suggestion.distance(a, b) == distance)
    }
}
