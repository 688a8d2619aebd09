import Testing
import TransferModel

@testable import TransferCore

struct HostGatesTests {
    private let host = "https://example.org:443"
    private let owner = UserID(1)

    private func report(
        _ gates: inout HostGates, _ report: HostGates.Report, task: Int64 = 1, startedAt: Double = 0,
        at time: Double = 0, host: String? = nil, owner: UserID? = nil
    ) {
        gates.report(
            report, host: host ?? self.host, owner: owner ?? self.owner, task: TaskID(task),
            startedAt: reading(startedAt).boot, at: reading(time))
    }

    private func silent(at time: Double = 0) -> HostGates {
        var gates = HostGates()
        for task in 1...5 { report(&gates, .failed, task: Int64(task), at: time) }
        return gates
    }

    @Test func aHostNobodyComplainedOfTakesAny() {
        var gates = HostGates()
        #expect(gates.permission(host: host, owner: owner, at: reading()) == .any)
        report(&gates, .answered)
        report(&gates, .refused)
        report(&gates, .nothing)
        for _ in 0..<4 { report(&gates, .failed) }
        #expect(gates.permission(host: host, owner: owner, at: reading()) == .any)
        #expect(gates.nextChange() == nil && gates.hold(host: host, owner: owner, at: reading()) == nil)
    }

    @Test func afterASleepNoHostIsSilentAndPausesStay() {
        var gates = silent()
        report(&gates, .throttled(retryAfter: 100), host: "https://paced:443")
        gates.forgetSilence(at: reading(1))
        #expect(gates.permission(host: host, owner: owner, at: reading(1)) == .any)
        #expect(gates.takeReleased(at: reading(1)) == [host])
        #expect(gates.hold(host: "https://paced:443", owner: owner, at: reading(1)) != nil)
    }

    @Test func aSilentHostTakesOneAtATime() {
        var gates = silent()
        #expect(gates.permission(host: host, owner: owner, at: reading()) == .none(until: reading(5).boot))
        #expect(gates.hold(host: host, owner: owner, at: reading()) == .silent(nextProbe: reading(5).boot))
        #expect(gates.permission(host: host, owner: owner, at: reading(5)) == .probe)
        #expect(gates.permission(host: "https://other.org:443", owner: owner, at: reading()) == .any)
        gates.attemptStarted(host: host, owner: owner, task: TaskID(9), at: reading(5))
        #expect(gates.permission(host: host, owner: owner, at: reading(6)) == .none(until: reading(15).boot))
        report(&gates, .nothing, task: 9, at: 7)
        #expect(gates.permission(host: host, owner: owner, at: reading(7)) == .probe)
    }

    /// Tasks of volatile sessions try the host themselves, and do not delay the probes of other tasks.
    @Test func whoDoesNotHeedSilenceIsNotHeld() {
        var gates = silent()
        #expect(gates.permission(host: host, owner: owner, at: reading(), heedsSilence: false) == .any)
        #expect(gates.hold(host: host, owner: owner, at: reading(), heedsSilence: false) == nil)
        gates.attemptStarted(host: host, owner: owner, task: .firstVolatile, at: reading(4))
        #expect(gates.permission(host: host, owner: owner, at: reading(5)) == .probe)
        // They also wait if the host itself asked for a pause.
        report(&gates, .throttled(retryAfter: 60))
        guard case .none = gates.permission(host: host, owner: owner, at: reading(), heedsSilence: false) else {
            return #expect(Bool(false), "it may begin")
        }
    }

    @Test func aStatusHoldsNobody() {
        var gates = HostGates()
        for task in 1...50 { report(&gates, .refused, task: Int64(task)) }
        #expect(gates.permission(host: host, owner: owner, at: reading()) == .any)
        gates = silent()
        report(&gates, .refused, at: 1)
        #expect(gates.permission(host: host, owner: owner, at: reading(1)) == .any)
        #expect(gates.takeReleased(at: reading(1)) == [host])
    }

    @Test func anAnswerAndReceivedBytesLetAllIn() {
        var gates = silent()
        report(&gates, .answered, at: 1)
        #expect(gates.permission(host: host, owner: owner, at: reading(1)) == .any)
        gates = silent()
        let wasOpen = gates.received(from: host, at: reading(1))
        let again = gates.received(from: host, at: reading(1))
        #expect(wasOpen && !again)
        #expect(gates.permission(host: host, owner: owner, at: reading(1)) == .any)
        #expect(gates.takeReleased(at: reading(1)) == [host])
    }

    @Test func whatAHostAsksForHoldsAllOfItsTasks() {
        var gates = HostGates()
        report(&gates, .throttled(retryAfter: 2))
        #expect(gates.permission(host: host, owner: owner, at: reading(1)) == .none(until: reading(2).boot))
        #expect(gates.hold(host: host, owner: owner, at: reading(1)) == .paced(nextStart: reading(2).boot))
        #expect(gates.permission(host: host, owner: owner, at: reading(2)) == .probe)
        gates.attemptStarted(host: host, owner: owner, task: TaskID(7), at: reading(2))
        #expect(gates.permission(host: host, owner: owner, at: reading(2.5)) == .none(until: reading(3).boot))
        #expect(gates.permission(host: host, owner: owner, at: reading(3)) == .one)
        report(&gates, .throttled(retryAfter: 4), startedAt: 2, at: 2.6)
        #expect(gates.permission(host: host, owner: owner, at: reading(3)) == .none(until: reading(6.6).boot))
    }

    @Test func aPauseHoldsItsOwnerOnlyAndSilenceHoldsAll() {
        let other = UserID(2)
        var gates = HostGates()
        report(&gates, .throttled(retryAfter: 3600))
        #expect(gates.permission(host: host, owner: owner, at: reading(1)) == .none(until: reading(60).boot))
        #expect(gates.permission(host: host, owner: other, at: reading(1)) == .any)
        #expect(gates.hold(host: host, owner: other, at: reading(1)) == nil)
        let isHeld = gates.tryNow(host: host, owner: other, task: TaskID(5), at: reading(1))
        #expect(!isHeld && gates.permission(host: host, owner: owner, at: reading(1)) != .any)
        // An answer to another owner does not end the pause.
        report(&gates, .answered, at: 2, owner: other)
        #expect(gates.hold(host: host, owner: owner, at: reading(2)) == .paced(nextStart: reading(60).boot))
        for task in 1...5 { report(&gates, .failed, task: Int64(task), at: 3) }
        #expect(gates.permission(host: host, owner: other, at: reading(4)) == .none(until: reading(8).boot))
        // Each gate is reported at its own time.
        #expect(gates.takeReleased(at: reading(8)) == [host] && gates.nextChange() == reading(60).boot)
        #expect(gates.permission(host: host, owner: owner, at: reading(8)) == .none(until: reading(60).boot))
    }

    @Test func a429WithoutATimeMakesAPaceSlowerAndNoneOfItsOwn() {
        var gates = HostGates()
        report(&gates, .throttled(retryAfter: nil))
        #expect(gates.isEmpty)
        gates = silent()
        report(&gates, .throttled(retryAfter: nil), at: 1)
        #expect(gates.isEmpty, "it is an answer")
        report(&gates, .throttled(retryAfter: 1), at: 1)
        for _ in 0..<9 { report(&gates, .answered, startedAt: 2, at: 2) }
        report(&gates, .throttled(retryAfter: nil), startedAt: 2, at: 3)
        gates.attemptStarted(host: host, owner: owner, task: TaskID(7), at: reading(4))
        // Without the refusal the rate is above 4 per second.
        #expect(gates.permission(host: host, owner: owner, at: reading(4.3)) != .any)
        guard case .none(let until) = gates.permission(host: host, owner: owner, at: reading(4.3)) else {
            Issue.record("the rate was not lowered")
            return
        }
        #expect(until <= reading(4.6).boot)
    }

    @Test func theLaterOfBothTimesHolds() {
        var gates = silent()
        report(&gates, .throttled(retryAfter: 20), at: 1)
        for task in 1...5 { report(&gates, .failed, task: Int64(task), at: 2) }
        #expect(gates.permission(host: host, owner: owner, at: reading(8)) == .none(until: reading(21).boot))
        #expect(gates.hold(host: host, owner: owner, at: reading(8)) == .silent(nextProbe: reading(21).boot))
        gates.attemptStarted(host: host, owner: owner, task: TaskID(9), at: reading(21))
        #expect(gates.permission(host: host, owner: owner, at: reading(23)) == .none(until: reading(31).boot))
    }

    @Test func aHostIsReleasedOnceWhenItsTimeComes() {
        var gates = silent()
        #expect(gates.takeReleased(at: reading(4)) == [] && gates.nextChange() == reading(5).boot)
        #expect(gates.takeReleased(at: reading(5)) == [host] && gates.nextChange() == nil)
        #expect(gates.takeReleased(at: reading(6)) == [])
        gates.attemptStarted(host: host, owner: owner, task: TaskID(9), at: reading(6))
        report(&gates, .failed, task: 9, at: 7)
        #expect(gates.nextChange() == reading(16).boot)
        report(&gates, .answered, at: 8)
        #expect(gates.takeReleased(at: reading(8)) == [host])
        // The entry for the gate no longer means anything.
        #expect(gates.nextChange() == nil && gates.takeReleased(at: reading(100)) == [])
    }

    @Test func aPaceEndsWhenTheHostTakesMany() {
        var gates = HostGates()
        report(&gates, .throttled(retryAfter: 1))
        for _ in 0..<3000 { report(&gates, .answered, startedAt: 2, at: 2) }
        #expect(gates.permission(host: host, owner: owner, at: reading(2)) == .any && gates.isEmpty)
    }

    @Test func aClientsTaskIsTriedAtOnceDuringAPauseToo() {
        var gates = HostGates()
        report(&gates, .throttled(retryAfter: 30))
        let isHeld = gates.tryNow(host: host, owner: owner, task: TaskID(77), at: reading(1))
        #expect(isHeld && gates.permission(host: host, owner: owner, at: reading(1)) == .probe)
    }

    @Test func aHostWhoseProbeIsDueIsStillSilent() {
        #expect(silent().hold(host: host, owner: owner, at: reading(6)) == .silent(nextProbe: reading(5).boot))
    }

    @Test func aClientsTaskIsTriedAtOnce() {
        var gates = silent()
        let isHeld = gates.tryNow(host: host, owner: owner, task: TaskID(77), at: reading(1))
        #expect(isHeld && gates.permission(host: host, owner: owner, at: reading(1)) == .probe)
        #expect(
            gates.invited(host: host, owner: owner) == TaskID(77) && gates.invitations(at: reading(1)) == [TaskID(77)])
        #expect(gates.takeReleased(at: reading(1)) == [host])
        gates.attemptStarted(host: host, owner: owner, task: TaskID(77), at: reading(1))
        #expect(gates.invited(host: host, owner: owner) == nil && gates.invitations(at: reading(1)) == [])
        let isOthers = gates.tryNow(host: "https://other.org:443", owner: owner, task: TaskID(78), at: reading(1))
        #expect(!isOthers)
    }

    @Test func hostsThatWereQuietForLongAreForgottenAndReleased() {
        var gates = silent()
        _ = gates.takeReleased(at: reading(5))
        for number in 0...HostGates.rememberedGates {
            report(&gates, .failed, at: 10_000, host: "http://h\(number):80")
        }
        #expect(gates.permission(host: host, owner: owner, at: reading(10_000)) == .any)
        #expect(gates.takeReleased(at: reading(10_000)) == [host])
    }
}
