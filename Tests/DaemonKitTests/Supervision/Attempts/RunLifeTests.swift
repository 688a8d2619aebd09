import Testing
import TransferCore

@testable import DaemonKit

/// Every event in every state.
struct RunLifeTests {
    /// Returns what follows; nil if nothing does.
    private typealias Event = @Sendable (inout RunLife) -> String?

    private static let preempted: Event = { $0.requestStop(.transition(.preempted())) ? "stop" : nil }
    private static let left: Event = { $0.requestStop(.leftToCaller) ? "stop" : nil }
    private static let commitRequested: Event = { $0.commit() ? "commit" : "refuse" }
    private static let planRequested: Event = { life in
        switch life.takePlan() {
        case nil: "follow nothing"
        case .transition: "follow preemption"
        case .leftToCaller: "follow caller"
        }
    }
    private static let stopAbandoned: Event = { $0.abandonStop() ? "requeue later" : "too late" }
    private static let ended: Event = { life in
        life.end()
        return nil
    }

    /// The events that lead to each state.
    private static let states: [String: [Event]] = [
        "active": [], "stopping": [preempted], "left": [left], "committing": [commitRequested],
        "decided": [planRequested], "decided: stopped": [preempted, planRequested],
        "decided: left": [left, planRequested], "ended": [ended], "ended: decided": [planRequested, ended],
    ]

    private func life(_ name: String) throws -> RunLife {
        var life = RunLife()
        for event in try #require(Self.states[name]) { _ = event(&life) }
        return life
    }

    /// One word for a state.
    private func name(_ life: RunLife) -> String {
        switch life.state {
        case .active: "active"
        case .stopping(.transition): "stopping"
        case .stopping(.leftToCaller): "left"
        case .committing: "committing"
        case .decided(nil): "decided"
        case .decided(.transition?): "decided: stopped"
        case .decided(.leftToCaller?): "decided: left"
        case .ended(wasDecided: false): "ended"
        case .ended(wasDecided: true): "ended: decided"
        }
    }

    private func expect(_ event: Event, _ expected: [String: (state: String, action: String?)]) throws {
        #expect(Set(expected.keys) == Set(Self.states.keys), "a state is missing")
        for (state, follows) in expected {
            var life = try life(state)
            let action = event(&life)
            #expect(name(life) == follows.state, "in \(state)")
            #expect(action == follows.action, "in \(state)")
        }
    }

    @Test func aStopIsTakenUntilTheRunCommits() throws {
        try expect(
            Self.preempted,
            [
                "active": ("stopping", "stop"), "stopping": ("stopping", "stop"), "left": ("left", "stop"),
                "committing": ("committing", nil), "decided": ("decided", nil),
                "decided: stopped": ("decided: stopped", nil), "decided: left": ("decided: left", nil),
                "ended": ("ended", nil), "ended: decided": ("ended: decided", nil),
            ])
    }

    @Test func aCallersChangeWinsOverAPreemption() throws {
        try expect(
            Self.left,
            [
                "active": ("left", "stop"), "stopping": ("left", "stop"), "left": ("left", "stop"),
                "committing": ("committing", nil), "decided": ("decided", nil),
                "decided: stopped": ("decided: stopped", nil), "decided: left": ("decided: left", nil),
                "ended": ("ended", nil), "ended: decided": ("ended: decided", nil),
            ])
    }

    @Test func nothingIsDeliveredAfterAStop() throws {
        try expect(
            Self.commitRequested,
            [
                "active": ("committing", "commit"), "stopping": ("stopping", "refuse"), "left": ("left", "refuse"),
                "committing": ("committing", "commit"), "decided": ("decided", "refuse"),
                "decided: stopped": ("decided: stopped", "refuse"), "decided: left": ("decided: left", "refuse"),
                "ended": ("ended", "refuse"), "ended: decided": ("ended: decided", "refuse"),
            ])
    }

    @Test func thePlanIsDecidedOnce() throws {
        try expect(
            Self.planRequested,
            [
                "active": ("decided", "follow nothing"), "stopping": ("decided: stopped", "follow preemption"),
                "left": ("decided: left", "follow caller"), "committing": ("decided", "follow nothing"),
                "decided": ("decided", "follow nothing"), "decided: stopped": ("decided: stopped", "follow preemption"),
                "decided: left": ("decided: left", "follow caller"), "ended": ("ended", "follow nothing"),
                "ended: decided": ("ended: decided", "follow nothing"),
            ])
    }

    /// Exactly one of the run and the caller stores what becomes of the task.
    @Test func aCallerWhoGivesUpStoresOnlyWhatIsDecided() throws {
        try expect(
            Self.stopAbandoned,
            [
                "active": ("active", "requeue later"), "stopping": ("stopping", "requeue later"),
                "left": ("stopping", "requeue later"), "committing": ("committing", "requeue later"),
                "decided": ("decided", "too late"), "decided: stopped": ("decided: stopped", "too late"),
                "decided: left": ("decided: left", "too late"), "ended": ("ended", "requeue later"),
                "ended: decided": ("ended: decided", "too late"),
            ])
    }

    @Test func theEndRemembersWhoDecides() throws {
        try expect(
            Self.ended,
            [
                "active": ("ended", nil), "stopping": ("ended", nil), "left": ("ended", nil),
                "committing": ("ended", nil), "decided": ("ended: decided", nil),
                "decided: stopped": ("ended: decided", nil), "decided: left": ("ended: decided", nil),
                "ended": ("ended", nil), "ended: decided": ("ended: decided", nil),
            ])
    }
}
