import Testing
import TransferCore

@testable import DaemonKit

/// Every event in every state.
struct RunLifeTests {
    private static let preempted = RunLife.Event.stopRequested(.transition(.preempted()))
    private static let left = RunLife.Event.stopRequested(.leftToCaller)

    /// The events that lead to each state.
    private static let states: [String: [RunLife.Event]] = [
        "active": [], "stopping": [preempted], "left": [left], "committing": [.commitRequested],
        "decided": [.planRequested], "decided: stopped": [preempted, .planRequested],
        "decided: left": [left, .planRequested], "ended": [.ended], "ended: decided": [.planRequested, .ended],
    ]

    private func life(_ name: String) throws -> RunLife {
        var life = RunLife()
        for event in try #require(Self.states[name]) { _ = life.handle(event) }
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

    private func name(_ action: RunLife.Action) -> String {
        switch action {
        case .stop: "stop"
        case .commit: "commit"
        case .refuseCommit: "refuse"
        case .follow(nil): "follow nothing"
        case .follow(.transition?): "follow preemption"
        case .follow(.leftToCaller?): "follow caller"
        case .requeueLater: "requeue later"
        case .tooLate: "too late"
        }
    }

    private func expect(
        _ event: RunLife.Event, _ expected: [String: (state: String, action: String?)]
    ) throws {
        #expect(Set(expected.keys) == Set(Self.states.keys), "a state is missing")
        for (state, follows) in expected {
            var life = try life(state)
            let actions = life.handle(event)
            #expect(name(life) == follows.state, "\(event) in \(state)")
            #expect(actions.map { name($0) } == [follows.action].compactMap(\.self), "\(event) in \(state)")
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
            .commitRequested,
            [
                "active": ("committing", "commit"), "stopping": ("stopping", "refuse"), "left": ("left", "refuse"),
                "committing": ("committing", "commit"), "decided": ("decided", "refuse"),
                "decided: stopped": ("decided: stopped", "refuse"), "decided: left": ("decided: left", "refuse"),
                "ended": ("ended", "refuse"), "ended: decided": ("ended: decided", "refuse"),
            ])
    }

    @Test func thePlanIsDecidedOnce() throws {
        try expect(
            .planRequested,
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
            .stopAbandoned,
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
            .ended,
            [
                "active": ("ended", nil), "stopping": ("ended", nil), "left": ("ended", nil),
                "committing": ("ended", nil), "decided": ("ended: decided", nil),
                "decided: stopped": ("ended: decided", nil), "decided: left": ("ended: decided", nil),
                "ended": ("ended", nil), "ended: decided": ("ended: decided", nil),
            ])
    }
}
