import Testing
import TransferModel

@testable import TransferCore

struct EffectivePolicyTests {
    private func policy(
        _ spec: (inout TaskSpec) -> Void = { _ in }, _ session: (inout SessionConfiguration) -> Void = { _ in }
    ) -> EffectivePolicy {
        var (task, configuration) = (TaskSpec(), SessionConfiguration())
        spec(&task)
        session(&configuration)
        return EffectivePolicy(spec: task, session: configuration)
    }

    @Test func defaultsAreThoseOfTheSpecification() {
        let policy = policy()
        #expect(policy.network.stallTimeout == 60)
        #expect(policy.resourceTimeout == Seconds(7 * 86_400))
        #expect(policy.conflictPolicy == .rename)
        #expect(policy.retry == RetryPolicy())
        #expect(policy.network.allowsPlaintext)
        #expect(policy.network.proxy == nil)
        #expect(policy.durability == .full)
        #expect(policy.rateLimit == .unlimited)
    }

    @Test func theTaskWinsOverTheSession() {
        let policy = policy(
            {
                $0.timeoutIntervalForRequest = 5
                $0.conflictPolicy = .fail
                $0.proxy = "http://task:1"
                $0.interface = "task0"
                $0.caFile = "/task"
                $0.allowsArbitraryLoads = true
                $0.tlsMinimumVersion = .v13
            },
            {
                $0.timeoutIntervalForRequest = 50
                $0.timeoutIntervalForResource = 500
                $0.conflictPolicy = .overwrite
                $0.proxy = "http://session:1"
                $0.interface = "session0"
                $0.caFile = "/session"
                $0.allowsArbitraryLoads = false
                $0.tlsMinimumVersion = .v12
            })
        #expect(policy.network.interface == "task0")
        #expect(policy.network.stallTimeout == 5)
        #expect(policy.network.connectTimeout == 5)
        #expect(policy.resourceTimeout == 500)
        #expect(policy.conflictPolicy == .fail)
        #expect(policy.network.proxy == "http://task:1")
        #expect(policy.network.caFile == "/task")
        #expect(policy.network.allowsPlaintext)
        #expect(policy.network.tlsMinimumVersion == .v13)
    }

    @Test(arguments: [nil, true, false] as [Bool?], [nil, true, false] as [Bool?])
    func anyStatusIsAcceptedByTheTaskElseItsSession(task: Bool?, session: Bool?) {
        let policy = policy({ $0.acceptsAnyStatus = task }, { $0.acceptsAnyStatus = session })
        #expect(policy.acceptsAnyStatus == (task ?? session ?? false))
    }

    /// As in URLSession, a background session always waits.
    @Test(arguments: [nil, true, false] as [Bool?], [nil, true, false] as [Bool?])
    func onlyOtherThanBackgroundSessionsFailForWantOfConnectivity(task: Bool?, session: Bool?) {
        var (spec, configuration) = (TaskSpec(), SessionConfiguration())
        spec.waitsForConnectivity = task
        configuration.waitsForConnectivity = session
        for kind in [SessionKind.background, .default, .ephemeral] {
            let policy = EffectivePolicy(spec: spec, session: configuration, kind: kind)
            #expect(policy.retry.waitsForConnectivity == (kind == .background || task ?? session ?? false))
        }
    }

    @Test func retriesAreInheritedOneByOne() {
        var (own, inherited) = (RetryPolicySpec(), RetryPolicySpec())
        own.firstDelay = 2
        (inherited.attempts, inherited.firstDelay) = (3, 1000)
        let policy = policy({ $0.retry = own }, { $0.retry = inherited })
        // The session does not set the longest delay. Its own first delay does not affect the task's.
        #expect(policy.retry.attempts == 3 && policy.retry.firstDelay == 2 && policy.retry.longestDelay == 600)
        #expect(policy.retry.waitsForConnectivity)
    }

    /// Data of one task must not be available to the next.
    @Test func tasksOfOneSessionShareNothingOfTheirOwn() {
        let left = EffectivePolicy(session: SessionConfiguration())
        var spec = TaskSpec()
        spec.proxy = "http://task:1"
        spec.timeoutIntervalForRequest = 5
        var (first, second) = (left, left)
        first.apply(Boxed(wrappedValue: spec), in: .background, retrying: nil)
        second.apply(Boxed(wrappedValue: TaskSpec()), in: .background, retrying: nil)
        #expect(first.network.proxy == "http://task:1" && first.network.stallTimeout == 5)
        #expect(second.network == left.network && left.network == NetworkOptions())
    }

    @Test func theSessionIsInherited() {
        let policy = policy(
            { _ in },
            {
                $0.allowsArbitraryLoads = false
                $0.proxy = "none"
                $0.httpAdditionalHeaders = [HeaderField("A", "b")]
            })
        #expect(!policy.network.allowsPlaintext)
        #expect(policy.network.proxy == "")
        #expect(policy.sessionHeaders == [HeaderField("A", "b")])
    }
}
