import Testing
import TransferModel

@testable import TransferCore

struct OriginPaceTests {
    private func boot(_ seconds: Double) -> Int64 { reading(seconds).boot }

    @Test func nothingBeginsUntilTheTimeThatTheOriginNamed() {
        let pace = OriginPace(retryAfter: 2, at: reading())
        #expect(pace.nextStartAt == boot(2))
        #expect(pace.holdsUntil(at: reading(1)) == boot(2))
        #expect(pace.holdsUntil(at: reading(2)) == nil)
    }

    @Test func goodAnswersRaiseTheRateByOneASecondAndARefusalHalvesIt() {
        var pace = OriginPace(retryAfter: 1, at: reading())
        var time = 1.0
        for _ in 0..<6 {
            // One second of starts that all get good answers.
            let rate = pace.rate
            for _ in 0..<Int(rate.rounded()) { pace.answered(startedAt: boot(time), at: reading(time)) }
            time += 1
            #expect(abs(pace.rate - rate - 1) < 0.3)
        }
        let before = pace.rate
        pace.refused(retryAfter: 1, startedAt: boot(time), at: reading(time))
        #expect(pace.rate == before / 2)
        // Refusals of other requests that were already on their way tell nothing new.
        pace.refused(retryAfter: 1, startedAt: boot(time - 0.1), at: reading(time + 0.1))
        pace.answered(startedAt: boot(time - 0.1), at: reading(time + 0.2))
        #expect(pace.rate == before / 2)
        for _ in 0..<20 { pace.refused(retryAfter: 1, startedAt: boot(time + 1), at: reading(time + 1)) }
        #expect(pace.rate == OriginPace.lowestRate)
    }

    @Test func startsAreSpacedByTheRate() {
        var pace = OriginPace(retryAfter: 1, at: reading())
        pace.attemptStarted(at: reading(1))
        #expect(pace.nextStartAt == boot(2))
        for _ in 0..<3 { pace.answered(startedAt: boot(1), at: reading(1.5)) }
        pace.attemptStarted(at: reading(2))
        let gap = Double(pace.nextStartAt - boot(2)) / 1000
        #expect(abs(gap - 1 / pace.rate) < 0.002)
        // Unused starts are lost, so there is no burst after a pause.
        pace.attemptStarted(at: reading(60))
        #expect(pace.nextStartAt >= boot(60.2))
    }

    /// One URL that asks for a pause of a day must not block the other URLs for a day.
    @Test func aLongHoldIsTriedOnceAMinuteAndEndsWithAGoodAnswer() {
        var pace = OriginPace(retryAfter: 86_400, at: reading())
        #expect(pace.nextStartAt == boot(60))
        pace.attemptStarted(at: reading(60))
        #expect(pace.nextStartAt == boot(120))
        pace.refused(retryAfter: 86_400, startedAt: boot(60), at: reading(61))
        #expect(pace.nextStartAt == boot(121) && pace.holdsUntil(at: reading(200)) == boot(86_461))
        pace.attemptStarted(at: reading(121))
        pace.answered(startedAt: boot(121), at: reading(122))
        #expect(pace.holdsUntil(at: reading(122)) == nil)
        #expect(pace.nextStartAt == boot(123))
    }

    @Test func aShorterTimeDoesNotEndALongerOne() {
        var pace = OriginPace(retryAfter: 30, at: reading())
        pace.refused(retryAfter: 1, startedAt: boot(0), at: reading(1))
        #expect(pace.nextStartAt == boot(30) && pace.holdsUntil(at: reading(3)) == boot(30))
    }

    @Test func aClientMayAskForATry() {
        var pace = OriginPace(retryAfter: 30, at: reading())
        pace.tryNow(at: reading(3))
        #expect(pace.nextStartAt == boot(3))
    }

    @Test func itIsOverWhenTheOriginTakesManyOrHasNotRefusedForLong() {
        var pace = OriginPace(retryAfter: 10, at: reading())
        #expect(!pace.isOver(at: reading(609)))
        #expect(pace.isOver(at: reading(610)))
        while pace.rate < OriginPace.highestRate { pace.answered(startedAt: boot(20), at: reading(20)) }
        #expect(pace.isOver(at: reading(21)))
    }

    /// Between its admission and its start, a task is stored as running, and the answers of others arrive.
    @Test func aStartThatWasAdmittedBeforeTheRefusalAddsNothing() {
        var pace = OriginPace(retryAfter: 2, at: reading(10))
        for _ in 0..<6 { pace.attemptStarted(at: reading(9.9)) }
        #expect(pace.nextStartAt == boot(12) && pace.prefersUntried)
        pace.attemptStarted(at: reading(12))
        pace.refused(retryAfter: 2, startedAt: boot(10), at: reading(13.1))
        pace.attemptStarted(at: reading(13))
        #expect(pace.nextStartAt == boot(15.1) && !pace.prefersUntried)
    }

    @Test func theNextTryIsNeverLaterThanTheHold() {
        var pace = OriginPace(retryAfter: 100, at: reading())
        pace.attemptStarted(at: reading(60))
        #expect(pace.nextStartAt == boot(100))
        pace.attemptStarted(at: reading(100))
        #expect(pace.nextStartAt == boot(101))
        pace = OriginPace(retryAfter: 30, at: reading())
        pace.tryNow(at: reading(3))
        pace.attemptStarted(at: reading(3))
        #expect(pace.nextStartAt == boot(30))
    }

    /// How a server counts the five requests that it allows each second.
    enum Limit: CaseIterable {
        /// From one full second to the next.
        case window
        /// Tokens for five requests, which come back one by one.
        case bucket

        func admits(_ time: Double, after accepted: [Double]) -> Bool {
            switch self {
            case .window: return accepted.count { $0.rounded(.down) == time.rounded(.down) } < 5
            case .bucket:
                var (tokens, last) = (5.0, 0.0)
                for moment in accepted {
                    tokens = min(5, tokens + (moment - last) * 5) - 1
                    last = moment
                }
                return tokens + (time - last) * 5 >= 1
            }
        }
    }

    /// A server accepts five requests per second and answers the rest with 429 and `Retry-After: 2`. Sixty files cost
    /// at most 150 requests and 40 seconds, in whatever order its answers come, and the origin never waits longer than
    /// it asked for. Starts are counted a moment after their admission.
    @Test(arguments: Limit.allCases, [0.0, 0.05, 0.3])
    func sixtyFilesCostAtMost150RequestsAnd40Seconds(limit: Limit, latency: Double) {
        let storing = 0.02
        var (served, requests, time, lastStart, longestSilence) = (0, 0, 0.0, 0.0, 0.0)
        var pace: OriginPace?
        var accepted: [Double] = []
        var admitted: [Double] = []
        var flying: [(start: Double, isGood: Bool)] = []
        var waiting = 60
        while served < 60, time < 120 {
            for answer in flying where answer.start + latency <= time {
                let (began, now) = (boot(answer.start), reading(time))
                if answer.isGood {
                    served += 1
                    pace?.answered(startedAt: began, at: now)
                } else {
                    waiting += 1
                    if pace == nil { pace = OriginPace(retryAfter: 2, at: now) }
                    pace?.refused(retryAfter: 2, startedAt: began, at: now)
                }
            }
            flying.removeAll { $0.start + latency <= time }
            for admission in admitted where admission + storing <= time {
                requests += 1
                pace?.attemptStarted(at: reading(admission))
                longestSilence = max(longestSilence, time - lastStart)
                lastStart = time
                let isGood = limit.admits(time, after: accepted)
                if isGood { accepted.append(time) }
                flying.append((time, isGood))
            }
            admitted.removeAll { $0 + storing <= time }
            let room = pace == nil ? 6 - admitted.count - flying.count : admitted.isEmpty && flying.count < 6 ? 1 : 0
            for _ in 0..<min(room, waiting) where pace.map({ $0.nextStartAt <= boot(time) }) ?? true {
                waiting -= 1
                admitted.append(time)
            }
            time += 0.01
        }
        #expect(served == 60)
        #expect(requests <= 150, "\(requests) requests")
        #expect(time < 40, "\(time) s")
        #expect(longestSilence <= 3.1, "the hold and one start of the lowest rate; \(longestSilence) s")
    }
}
