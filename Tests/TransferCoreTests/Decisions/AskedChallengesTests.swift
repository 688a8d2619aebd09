import Testing
import TransferModel

@testable import TransferCore

@Suite struct AskedChallengesTests {
    @Test(arguments: ["Negotiate", "Basic realm=x", "Bearer", "Negotiate, Basic"])
    func onlyWhatCanBeMetIsNotTheAnswer(value: String) {
        let head = ResponseHead(
            url: "https://a.example/", status: 401, headers: [HeaderField("WWW-Authenticate", value)])
        #expect(!AskedChallenges.none.include(head))
        #expect(AskedChallenges.negotiate.include(head) == value.contains("Negotiate"))
        #expect(AskedChallenges.all.include(head) == (value != "Bearer"))
    }
}
