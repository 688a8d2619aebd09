import Testing
import TransferModel

@testable import dld_fleet

@Suite struct PaceTests {
    @Test(arguments: [
        (1, 5), (2, 10), (3, 20), (7, 320), (8, 600), (9, 600), (100, 600), (0, 5),
    ]) func backoffDoubles(attempt: Int, seconds: Int) {
        let backoff = Backoff()
        #expect(backoff.delay(attempt: attempt, random: 0) == .seconds(seconds) / 2)
        #expect(backoff.delay(attempt: attempt, random: 0.5) == .seconds(seconds) * 3 / 4)
        #expect(backoff.delay(attempt: attempt, retryAfter: .seconds(900), random: 0.9) == .seconds(900))
        #expect(backoff.delay(attempt: attempt, retryAfter: .seconds(1), random: 0) == .seconds(seconds) / 2)
    }

    private let poll = Duration.seconds(2)

    private func answered(_ count: Int, of room: Int, at now: Duration, random: Double = 0) -> ClaimPace {
        var pace = ClaimPace()
        _ = pace.begin(room: room)
        pace.answered(count, at: now, random: random, handBackAfter: .seconds(60))
        return pace
    }

    @Test func claimsAgainAtOnceIfItGotAll() {
        #expect(ClaimPace().moment(isIdle: true, poll: poll) == .zero)
        #expect(answered(4, of: 4, at: .seconds(9)).moment(isIdle: false, poll: poll) == .zero)
        #expect(answered(3, of: 4, at: .seconds(9)).moment(isIdle: false, poll: poll) == .seconds(11))
    }

    @Test(arguments: [0, 0.5, 0.99]) func pollsAtRandom(random: Double) {
        let pace = answered(0, of: 4, at: .seconds(9), random: random)
        #expect(pace.moment(isIdle: false, poll: poll) == .seconds(9) + poll * (1 + random / 5))
        // One statement in 5 s, whatever the settings.
        #expect(pace.moment(isIdle: true, poll: poll) == .seconds(9) + .seconds(5) * (1 + random / 5))
        #expect(pace.moment(isIdle: true, poll: .seconds(30)) >= .seconds(39))
    }

    @Test func notificationWakes() {
        var pace = answered(0, of: 4, at: .seconds(9))
        pace.notified(at: .seconds(9), random: 0.5)
        #expect(
            pace.moment(isIdle: true, poll: poll) == .milliseconds(9500), "an empty claim is not repeated for 500 ms")
        pace = answered(1, of: 4, at: .seconds(9))
        pace.notified(at: .seconds(10), random: 0.8)
        pace.notified(at: .seconds(10), random: 0.9)
        #expect(pace.moment(isIdle: false, poll: poll) == .milliseconds(10_200))
    }

    @Test func diskFullSlowsDown() {
        var pace = answered(4, of: 4, at: .seconds(9))
        pace.diskFull(until: .seconds(69))
        #expect(pace.moment(isIdle: false, poll: poll) == .seconds(69))
        #expect(pace.begin(room: 4) == 1)
        pace.answered(1, at: .seconds(70), random: 0, handBackAfter: .seconds(60))
        #expect(pace.moment(isIdle: false, poll: poll) == .seconds(130), "at most one in handBackAfter")
        pace.done()
        #expect(pace.moment(isIdle: false, poll: poll) == .zero)
        #expect(pace.begin(room: 4) == 4)
    }

    @Test func acknowledgesOnlyWhatIsSettled() {
        var ledger = EventLedger()
        let (a, b) = (JobKey(1, 1), JobKey(2, 1))
        for number in Int64(1)...3 { ledger.note(number) }
        #expect(ledger.next() == nil, "plain events can wait")
        ledger.note(4, endOf: a)
        ledger.note(5, isQuestion: true)
        ledger.note(6, endOf: b)
        ledger.note(7)
        ledger.settle(b)
        #expect(ledger.next() == 3)
        ledger.settle(a)
        #expect(ledger.next() == 4)
        ledger.settle(question: 5)
        #expect(ledger.next() == 7)
        #expect(ledger.next() == nil)
        for number in Int64(8)...71 { ledger.note(number) }
        #expect(ledger.next() == 71)
        ledger.restart()
        ledger.note(60, endOf: a)
        ledger.settle(a)
        #expect(ledger.next() == 60)
    }

    @Test func tokensAndMarksComeBack() {
        #expect(JobKey(token: JobKey(12, 3).token) == JobKey(12, 3))
        for text in ["", "fleet", "fleet:1", "fleet:1:2:3", "other:1:2", "fleet:a:1", "fleet::1"] {
            #expect(JobKey(token: text) == nil)
        }
        for raw in 0..<8 {
            let marks = TaskMarks(rawValue: raw)
            #expect(TaskMarks(attributes: marks.attributes) == marks)
        }
        #expect(TaskMarks(attributes: nil) == [])
    }

    @Test(arguments: [true, false], [nil] + TaskState.allCases.map(Optional.some))
    func reconciles(isLeased: Bool, task: TaskState?) {
        let stage = Work.stage(isLeased: isLeased, task: task)
        switch (isLeased, task) {
        case (true, nil): #expect(stage == .adding)
        case (true, let task?): #expect(stage == (task.isFinal ? .inspecting : .running))
        case (false, nil), (false, .cancelled): #expect(stage == nil)
        case (false, let task?): #expect(stage == (task.isFinal ? .inspecting : .discarding(deleteFile: true)))
        }
    }
}
