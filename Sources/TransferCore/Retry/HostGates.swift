import TransferModel

/// Which hosts accept new tasks now: the circuit breaker of each host, and the pace of each owner there.
///
/// Thousands of hosts may be held at a time, so nothing iterates over all of them: `takeReleased` reports each gate
/// once, in the order of the times. Times are milliseconds of the boot clock.
package struct HostGates: Sendable {
    /// How many tasks of a host may begin.
    package enum Permission: Sendable, Hashable {
        case any
        /// One: the task whose turn it is.
        case one
        /// One, and the task that failed least often goes first.
        case probe
        /// None before this time of the boot clock.
        case none(until: Int64)
    }

    /// Why a host accepts no task now.
    package enum Hold: Sendable, Hashable {
        /// It does not answer; the next probe begins at this time of the boot clock.
        case silent(nextProbe: Int64)
        /// It asked for a pause or a lower rate.
        case paced(nextStart: Int64)
    }

    /// What an attempt revealed about its host.
    package enum Report: Sendable, Hashable {
        /// It answered below 500, or bytes arrived.
        case answered
        /// It answered 500 or above.
        case refused
        /// It answered 503 and named a time, or 429 with or without one.
        case throttled(retryAfter: Seconds?)
        /// It did not answer.
        case failed
        /// Pause, cancel, preemption, disk, no network here.
        case nothing
    }

    /// What a gate applies to: a host, or the tasks of one owner there. Whether a host answers is the same for all
    /// owners. A pause applies only to the owner who was asked for it, so that one user's URL does not stop another's.
    package struct Scope: Sendable, Hashable {
        package let host: String
        /// nil: all owners.
        package let owner: UserID?

        package init(host: String, owner: UserID?) {
            self.host = host
            self.owner = owner
        }
    }

    private struct Gate: Sendable {
        var breaker: CircuitBreaker?
        var pace: OriginPace?
        var touchedAt: Int64 = 0

        var nextStartAt: Int64? { breaker?.nextProbeAt ?? pace?.nextStartAt }
    }

    /// With more gates than this, those that have been quiet for `memory` are forgotten.
    static let rememberedGates = 4096
    static let memory: Seconds = 3600

    private var gates: [Scope: Gate] = [:]
    /// When gates open; an entry is ignored if its gate has another time now.
    private var times = TimeQueue<Scope>()
    /// Hosts that accept tasks again, until the caller fetches them.
    private var released: [String] = []
    private var forgetsAt = Self.rememberedGates
    /// The tasks that clients want to try now, by host and owner.
    private var invited: [Scope: TaskID] = [:]

    private let policy: SchedulingPolicy

    package init(policy: SchedulingPolicy = SchedulingPolicy()) {
        self.policy = policy
    }

    /// No host is held, and none has failed recently.
    package var isEmpty: Bool { gates.isEmpty }

    private func breaker(_ host: String) -> CircuitBreaker? { gates[Scope(host: host, owner: nil)]?.breaker }
    private func pace(_ host: String, _ owner: UserID) -> OriginPace? { gates[Scope(host: host, owner: owner)]?.pace }

    private func nextStartAt(_ host: String, _ owner: UserID, heedsSilence: Bool = true) -> Int64? {
        let probe = heedsSilence ? breaker(host)?.nextProbeAt : nil
        return [probe, pace(host, owner)?.nextStartAt].compactMap(\.self).max()
    }

    /// - Parameter heedsSilence: false for tasks of volatile sessions, which try a silent host anyway and usually fail
    ///   then.
    package func permission(
        host: String, owner: UserID, at now: ClockReading, heedsSilence: Bool = true
    ) -> Permission {
        guard !gates.isEmpty, let next = nextStartAt(host, owner, heedsSilence: heedsSilence) else { return .any }
        if now.boot < next { return .none(until: next) }
        let isProbe = heedsSilence && breaker(host)?.isOpen == true
        return isProbe || pace(host, owner)?.prefersUntried == true ? .probe : .one
    }

    /// Which tasks share the single start that `permission` allows.
    package func scope(host: String, owner: UserID) -> Scope {
        Scope(host: host, owner: breaker(host)?.isOpen == true ? nil : owner)
    }

    /// The task of `owner` at `host` that a client asked for; it precedes all others.
    package func invited(host: String, owner: UserID) -> TaskID? { invited[Scope(host: host, owner: owner)] }

    /// Tasks that clients asked for, at hosts that may be tried now.
    package func invitations(at now: ClockReading) -> [TaskID] {
        invited.compactMap { scope, task in
            guard let owner = scope.owner, let next = nextStartAt(scope.host, owner), next <= now.boot else {
                return nil
            }
            return task
        }
    }

    /// - Parameter heedsSilence: as `permission` has it.
    package func hold(host: String, owner: UserID, at now: ClockReading, heedsSilence: Bool = true) -> Hold? {
        guard let next = nextStartAt(host, owner, heedsSilence: heedsSilence) else { return nil }
        if heedsSilence, let probe = breaker(host)?.nextProbeAt { return .silent(nextProbe: max(probe, next)) }
        return now.boot < next ? .paced(nextStart: next) : nil
    }

    package mutating func attemptStarted(host: String, owner: UserID, task: TaskID, at now: ClockReading) {
        guard !gates.isEmpty else { return }
        // A volatile task was not held back, so it is not a probe and does not delay one.
        if !task.isVolatile { changeBreaker(host, at: now, ifKnown: true) { $0.attemptStarted(task, at: now) } }
        changePace(host, owner, at: now) { $0?.attemptStarted(at: now) }
        let scope = Scope(host: host, owner: owner)
        if invited[scope] == task { invited[scope] = nil }
    }

    /// - Parameter startedAt: when the attempt began.
    package mutating func report(
        _ report: Report, host: String, owner: UserID, task: TaskID, startedAt: Int64, at now: ClockReading
    ) {
        switch report {
        case .answered:
            changeBreaker(host, at: now, ifKnown: true) { $0.answered() }
            changePace(host, owner, at: now) { $0?.answered(startedAt: startedAt, at: now) }
        case .refused: changeBreaker(host, at: now, ifKnown: true) { $0.refused() }
        case .throttled(let retryAfter):
            changeBreaker(host, at: now, ifKnown: true) { $0.answered() }
            changePace(host, owner, at: now) { pace in
                pace?.refused(retryAfter: retryAfter, startedAt: startedAt, at: now)
                pace = pace ?? retryAfter.map { OriginPace(retryAfter: $0, at: now) }
            }
        case .failed: changeBreaker(host, at: now) { $0.attemptFailed(task, at: now) }
        case .nothing: changeBreaker(host, at: now, ifKnown: true) { $0.attemptEnded(task, at: now) }
        }
    }

    /// A transfer from `host` receives bytes: if the breaker is open, it closes.
    /// - Returns: whether it was open.
    package mutating func received(from host: String, at now: ClockReading) -> Bool {
        guard breaker(host)?.isOpen ?? false else { return false }
        changeBreaker(host, at: now, ifKnown: true) { $0.answered() }
        return true
    }

    /// A client asks that `task` of `owner` be tried at once.
    /// - Returns: whether its host was held for that owner.
    package mutating func tryNow(host: String, owner: UserID, task: TaskID, at now: ClockReading) -> Bool {
        guard nextStartAt(host, owner) != nil else { return false }
        invited[Scope(host: host, owner: owner)] = task
        changeBreaker(host, at: now, ifKnown: true) { $0.probeNow(at: now) }
        changePace(host, owner, at: now) { $0?.tryNow(at: now) }
        return true
    }

    /// Every host that did not answer may be tried again by all its tasks. Pauses that hosts asked for stay.
    package mutating func forgetSilence(at now: ClockReading) {
        for scope in Array(gates.keys) where scope.owner == nil {
            changeBreaker(scope.host, at: now, ifKnown: true) { $0.answered() }
        }
    }

    /// Hosts that were held and may be tried again since the last call.
    package mutating func takeReleased(at now: ClockReading) -> [String] {
        while let (time, scope) = times.first, time <= now.boot {
            times.popFirst()
            if gates[scope]?.nextStartAt == time { released.append(scope.host) }
        }
        defer { released = [] }
        return released
    }

    /// When the next host may be tried; nil if none waits for a time.
    package mutating func nextChange() -> Int64? {
        while let (time, scope) = times.first {
            if gates[scope]?.nextStartAt == time { return time }
            times.popFirst()
        }
        return nil
    }

    private mutating func changeBreaker(
        _ host: String, at now: ClockReading, ifKnown: Bool = false, _ body: (inout CircuitBreaker) -> Void
    ) {
        change(Scope(host: host, owner: nil), at: now) { [policy] gate in
            guard var breaker = gate.breaker ?? (ifKnown ? nil : CircuitBreaker(policy: policy)) else { return }
            body(&breaker)
            gate.breaker = breaker.isFresh ? nil : breaker
        }
    }

    private mutating func changePace(
        _ host: String, _ owner: UserID, at now: ClockReading, _ body: (inout OriginPace?) -> Void
    ) {
        change(Scope(host: host, owner: owner), at: now) { gate in
            body(&gate.pace)
            if gate.pace?.isOver(at: now) ?? false { gate.pace = nil }
        }
    }

    private mutating func change(_ scope: Scope, at now: ClockReading, _ body: (inout Gate) -> Void) {
        var gate = gates[scope] ?? Gate()
        let before = gate.nextStartAt
        body(&gate)
        gate.touchedAt = now.boot
        let after = gate.nextStartAt
        let isFresh = gate.breaker == nil && gate.pace == nil
        gates[scope] = isFresh ? nil : gate
        if after == nil, before != nil { open(scope) }
        if let after, after != before { times.insert(scope, at: after) }
        if gates.count > forgetsAt { forgetQuietGates(now) }
    }

    /// The gate holds no tasks any more; if no gate is left for an owner, its task needs no invitation.
    private mutating func open(_ scope: Scope) {
        released.append(scope.host)
        guard !invited.isEmpty else { return }
        for other in invited.keys where other.host == scope.host {
            if let owner = other.owner, nextStartAt(other.host, owner) == nil { invited[other] = nil }
        }
    }

    private mutating func forgetQuietGates(_ now: ClockReading) {
        let old = gates.filter { $0.value.touchedAt + Self.memory.milliseconds <= now.boot }
        for (scope, gate) in old {
            gates[scope] = nil
            if gate.nextStartAt != nil { open(scope) }
        }
        forgetsAt = max(Self.rememberedGates, 2 * gates.count)
    }
}

extension HostGates.Report {
    /// What a failure says about the host of the attempt.
    package init(_ failure: AttemptFailure) {
        let code = failure.error.code
        if failure.disposition == .disk || failure.disposition == .network {
            self = .nothing
        } else if code == .httpStatus {
            self = Self.of(failure)
        } else if code.isOfConnections {
            // A host that redirects has answered, whatever happens at the target.
            let isElsewhere = failure.error.details[AttemptFailure.redirectedTo] != nil
            self = failure.progressed || isElsewhere ? .answered : .failed
        } else {
            self = Self.ofAnswers.contains(code) ? .answered : .nothing
        }
    }

    private static func of(_ failure: AttemptFailure) -> Self {
        let status = failure.error.details["status"]?.integerValue ?? 0
        var retryAfter: Seconds?
        if case .transient(let after) = failure.disposition { retryAfter = after }
        // An FTP server has no such status: it has only the pause.
        if status == 429 || [0, 503].contains(status) && retryAfter != nil {
            return .throttled(retryAfter: retryAfter)
        }
        return status >= 500 ? .refused : .answered
    }

    /// Failures that only an answer can cause.
    private static let ofAnswers: Set<ErrorCode> = [
        .authRequired, .authFailed, .httpRedirectLimit, .httpProtocol, .validatorChanged, .integrityChecksum,
        .integrityLength, .tlsUntrusted,
    ]
}
