import ArgumentParser
import Testing
import TransferModel

@testable import dlctl

@Suite struct CandidatesTests {
    @Test(
        arguments: [
            ("", 0, 250, ["1-250"]), ("2", 0, 250, ["200-250", "20-29", "2-2"]), ("25", 0, 249, ["25-25"]),
            ("3", 0, 2, []), ("0", 0, 9, []), ("", 7, 9, ["8-9"]), ("1", 14, 200, ["100-199", "15-19"]),
        ] as [(String, Int64, Int64, [String])])
    func aPrefixIsAFewRanges(_ prefix: String, _ floor: Int64, _ newest: Int64, _ expected: [String]) {
        let ranges = CompletionRequest.ranges(prefix, above: floor, upTo: newest)
        #expect(ranges.map(TaskRanges.text) == expected)
        #expect(CompletionRequest.ranges(prefix, above: 0, upTo: .max).count <= 19)
    }

    @Test func eachShellReadsItsOwnForm() {
        let candidate = Candidate(word: "it's:7", note: "a: b")
        #expect(candidate.line(for: .bash) == "'it'\\''s:7'")
        #expect(candidate.line(for: .zsh) == "it's\\:7:a: b")
        #expect(candidate.line(for: .fish) == "it's:7\ta: b")
    }

    @Test func theEndOfARangeIsCompleted() {
        #expect(CompletionRequest.parts("12") == ("", "12", 0))
        #expect(CompletionRequest.parts("3-1") == ("3-", "1", 3))
        #expect(CompletionRequest.parts("x-") == ("x-", "", .max))
    }

    @Test func wordsAreReadAsTheShellsGiveThem() {
        let request = CompletionRequest(["dlctl", "rm", "--owner", "=", "all", "\"pod c\"", "it\\'s", ""], 5)
        #expect(request.word == "pod c" && request.command == "rm" && request.owner == .everyone)
        #expect(request.others.contains("it's") && !request.others.contains("pod c"))
        #expect(CompletionRequest(["dlctl"], 4).word == "")
    }
}
