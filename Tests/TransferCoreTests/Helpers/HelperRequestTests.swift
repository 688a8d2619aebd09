import Testing
import TransferModel

@testable import TransferCore

struct HelperRequestTests {
    private func answers(
        _ lines: [HelperMessage.Content], offset: Int64 = 0, fileSize: Int64? = nil
    ) -> [HelperEvent?] {
        var request = HelperRequest(scheme: "demo", offset: offset, hasPart: fileSize != nil)
        return lines.map { request.take($0) { fileSize ?? 0 } }
    }

    private func isViolation(_ event: HelperEvent??) -> Bool {
        guard case .failed(let error, _)?? = event else { return false }
        return error.code == .helperProtocol && !error.retryable
    }

    private let response = HelperResponse(offset: 0, length: 9)

    @Test func anAnswerFollowsItsOrder() {
        #expect(
            answers([.response(response), .data([1]), .data([]), .finished, .data([2]), .finished])
                == [.response(response), .data([1]), nil, .finished, nil, nil])
        #expect(answers([.redirect("x"), .response(response)]) == [.redirect("x"), nil])
        #expect(
            answers([.challenge(realm: nil, .httpBasic), .response(response)])
                == [.challenge(realm: nil, .httpBasic), .response(response)])
    }

    /// Bytes before the header, two headers, bytes for a file that does not exist, and bytes at a wrong offset.
    @Test func whatIsOutOfOrderFailsTheRequest() {
        for first in [HelperMessage.Content.data([1]), .wrote(1), .finished] {
            #expect(isViolation(answers([first]).first))
        }
        for second in [HelperMessage.Content.response(response), .redirect("x"), .challenge(realm: nil, .httpBasic)] {
            #expect(isViolation(answers([.response(response), second]).last))
        }
        #expect(isViolation(answers([.response(response), .wrote(1)]).last))
        let elsewhere = HelperResponse(offset: 7)
        #expect(isViolation(answers([.response(elsewhere)]).last))
        #expect(isViolation(answers([.response(elsewhere)], offset: 8).last))
        #expect(answers([.response(elsewhere)], offset: 7) == [.response(elsewhere)])
        #expect(answers([.response(response)], offset: 7) == [.response(response)])
        // Later lines belong to no request.
        #expect(answers([.finished, .response(response), .finished]).dropFirst() == [nil, nil])
    }

    @Test func anOffsetIsBelievedOnlyUpToWhatIsInTheFile() {
        #expect(
            answers([.response(response), .wrote(3), .wrote(3), .wrote(2), .wrote(9)], fileSize: 5)
                == [.response(response), .wrote(3), nil, nil, .wrote(5)])
    }

    @Test func failuresKeepTheHelpersWords() {
        func error(_ code: String, _ message: String, _ isRetryable: Bool) -> TransferError? {
            let event = answers([.failed(code: code, message: message, isRetryable: isRetryable)])[0]
            guard case .failed(let error, nil)? = event else { return nil }
            return error
        }
        let own = error("demo.gone", "it is gone", false)
        #expect(own?.code == .helperFailed && own?.retryable == false && own?.details["code"] == "demo.gone")
        #expect(own?.message.contains("it is gone") == true)
        #expect(error("network.dns", "m", true)?.code == .networkDNS)
        #expect(error("network.dns", "m", true)?.retryable == true)
        // A helper cannot report errors of the daemon itself.
        for code in ["disk.full", "internal", "deadline.exceeded", "cancelled"] {
            #expect(error(code, "m", true)?.code == .helperFailed)
        }
    }

    @Test func aHelperThatDiesIsStartedLaterEachTime() {
        var pace = HelperPace()
        #expect(pace.wait(at: 0) == 0)
        var now: Int64 = 1
        var waits: [Int64] = []
        for _ in 0..<9 {
            pace.failed(at: now, startedAt: now)
            waits.append(pace.wait(at: now))
            now += waits.last ?? 0
        }
        #expect(waits == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
        pace.succeeded()
        #expect(pace.wait(at: now) == 0)
    }

    /// What ends one of them mostly ends all.
    @Test func helpersThatDieTogetherCountOnce() {
        var pace = HelperPace()
        for moment in 100..<106 { pace.failed(at: Int64(moment), startedAt: 100 - Int64(moment)) }
        #expect(pace.wait(at: 100) == 500)
        pace.failed(at: 700, startedAt: 600)
        #expect(pace.wait(at: 700) == 1000)
    }
}
