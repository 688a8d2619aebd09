import Testing
import TransferModel

@testable import TransferCore

struct CachePolicyTests {
    private func policy(
        _ kind: SessionKind, _ task: TaskKind = .data,
        _ change: (inout SessionConfiguration, inout TaskSpec) -> Void = { _, _ in }
    ) -> CachePolicy? {
        var (session, spec) = (SessionConfiguration(), TaskSpec())
        spec.kind = task
        change(&session, &spec)
        return EffectivePolicy(spec: spec, session: session, kind: kind).cache
    }

    /// Downloads and uploads change what is stored.
    @Test func onlyVolatileSessionsHaveOne() {
        #expect(policy(.background) == nil)
        #expect(policy(.default, .download) != nil)
        #expect(policy(.default, .upload) != nil)
        #expect(policy(.default)?.request == .useProtocolCachePolicy)
    }

    @Test func theTasksPolicyWins() {
        #expect(
            policy(.default) { session, _ in session.requestCachePolicy = .returnCacheDataDontLoad }?.request
                == .returnCacheDataDontLoad)
        let both = policy(.ephemeral) { session, spec in
            session.requestCachePolicy = .returnCacheDataDontLoad
            spec.requestCachePolicy = .reloadRevalidatingCacheData
        }
        #expect(both?.request == .reloadRevalidatingCacheData)
    }

    @Test func capacitiesAreTheSessions() {
        #expect(policy(.default)?.isOwn == false && policy(.default)?.diskCapacity == 20 << 20)
        let own = policy(.default) { session, _ in
            session.urlCache = CacheCapacities(memoryCapacity: 5, diskCapacity: 7)
        }
        #expect(own?.isOwn == true && own?.memoryCapacity == 5 && own?.diskCapacity == 7)
        let ephemeral = policy(.ephemeral) { session, _ in session.urlCache = CacheCapacities(diskCapacity: 7) }
        #expect(ephemeral?.isOwn == true && ephemeral?.diskCapacity == 0 && ephemeral?.memoryCapacity == 4 << 20)
    }

    @Test func policiesThatReloadUseNothingStored() {
        let using: [RequestCachePolicy] = [.useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad]
        for policy in RequestCachePolicy.allCases { #expect(policy.usesStored == using.contains(policy), "\(policy)") }
    }
}
