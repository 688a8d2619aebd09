import Logging
import TransferCore
import TransferModel
import TransferStore

/// Takes each claimed task through one attempt: begins it, stores its ending, and starts what follows from that.
final class AttemptRunner: Sendable {
    /// A disk without a monitor is checked again after this time.
    private static let longestDiskWait: Seconds = 60

    private let tools: AttemptTools
    private let runs: RunTable
    private let policies: TaskPolicies
    private let machine: MachineState
    private let disks: DiskWaits
    private let rates: RateLimits
    private let sampler: RateSampler
    private let cookies: CookieKeeper
    private let credentials: CredentialKeeper
    private let hsts: HSTSKeeper
    private let trust: TrustKeeper
    private let followUp: FollowUp
    /// How many attempts may begin at a time on each destination's file system. A beginning takes more memory than a
    /// waiting transfer.
    private let beginnings = Turnstiles(width: 64)

    init(
        tools: AttemptTools, runs: RunTable, policies: TaskPolicies, machine: MachineState, disks: DiskWaits,
        rates: RateLimits,
        sampler: RateSampler, cookies: CookieKeeper, credentials: CredentialKeeper, hsts: HSTSKeeper,
        trust: TrustKeeper, followUp: FollowUp
    ) {
        self.tools = tools
        self.runs = runs
        self.policies = policies
        self.machine = machine
        self.disks = disks
        self.rates = rates
        self.sampler = sampler
        self.cookies = cookies
        self.credentials = credentials
        self.hsts = hsts
        self.trust = trust
        self.followUp = followUp
    }

    /// Begins the attempts of claimed tasks. Each task has a run when this returns.
    func begin(_ claims: [(task: TaskRecord, session: SessionRecord)]) {
        let startedAt = tools.time.reading().boot
        // Tasks that are claimed together belong to few sessions.
        var known: (key: SessionKey, policies: TaskPolicies.OfSession)?
        for (task, session) in claims {
            let policies =
                known.flatMap { $0.key == session.key ? $0.policies : nil }
                ?? policies.policies(in: session.configuration, kind: session.kind)
            known = (session.key, policies)
            begin(task, of: session, policies.policy(of: task.$spec), at: startedAt)
        }
        if !claims.isEmpty { sampler.start() }
    }

    private func begin(_ claimed: TaskRecord, of session: SessionRecord, _ policy: EffectivePolicy, at startedAt: Int64)
    {
        var policy = policy
        let user = CredentialKeeper.User(claimed, policy)
        policy.mayHaveCredentials = credentials.mayAnswer(user)
        if machine.hasJustWoken(at: startedAt) { policy.retry.waitsForConnectivity = true }
        policy.mayHaveTickets = credentials.mayNegotiate(user, policy, claimed.spec)
        let record = trust.adding(to: credentials.lookingUp(claimed, user), policy)
        if let settled = record.settled { policy.apply(settled) }
        let unproven = record.settled?.unproven ?? []
        let (proxy, interface) = (policy.$network.wrappedValue.proxy, policy.$network.wrappedValue.interface)
        let run = TransferRun(
            record, startedAt: startedAt, waitsForConnectivity: policy.retry.waitsForConnectivity,
            interface: URLRules.usesNetwork(record.spec.url ?? "") ? interface : nil,
            cookies: cookies.cookies(of: record, policy.cookies),
            hsts: hsts.hosts(of: record.session, policy),
            directHost: TaskPolicies.directHost(of: record, proxy: proxy)
        ) {
            [gates = tools.slots.gates, credentials, host = record.host, owner = record.session.owner, id = record.id]
            run in
            if !unproven.isEmpty { credentials.worked(run.proven(of: unproven), for: user) }
            gates.report(.answered, host: host, owner: owner, task: id, startedAt: startedAt)
        }
        if let standing = policy.request?.request.url { run.redirected(to: standing) }
        runs.insert(run)
        rates.apply(policy.rateLimit, of: record)
        tools.logger.debug("started", metadata: TaskLogFields.fields(of: record))
        let attempt: any TransferAttempt =
            switch record.spec.kind {
            case .download: DownloadAttempt(record: record, policy: policy, run: run, tools: tools)
            case .upload, .data: RequestAttempt(record: record, policy: policy, run: run, tools: tools)
            }
        // The network or the power may have changed since the task was chosen, and `NetworkFollower` knew no run of it.
        if let event = machine.event(for: claimed, in: session) {
            run.requestAbort(.transition(event))
            return ended(run, attempt, .aborted)
        }
        attempt.begin(beginnings) { [self] in ended(run, attempt, $0) }
    }

    private func ended(_ run: TransferRun, _ attempt: any TransferAttempt, _ ending: AttemptEnding) {
        if ending.isCompleted, !run.hasAnswered, !run.isAnsweredByCache,
            let unproven = attempt.record.settled?.unproven
        {
            let user = CredentialKeeper.User(attempt.record, attempt.policy)
            credentials.worked(run.proven(of: unproven), for: user)
        }
        guard case .completed(let outcome) = ending, !outcome.discardsPart else {
            return run.start { [self] in await finish(run, attempt, ending) }
        }
        report(ending, of: attempt.record, run)
        followUp.note(outcome)
        if leave(run, attempt.record) { tools.slots.signal.slotsFreed() }
    }

    /// Handles an ending that must be stored, or that leaves files behind.
    private func finish(_ run: TransferRun, _ attempt: any TransferAttempt, _ ending: AttemptEnding) async {
        let record = attempt.record
        report(ending, of: record, run)
        var isOver = false
        do {
            if let outcome = try await store(ending, record, attempt.policy, run) {
                isOver = outcome.record.status.state.isFinal
                await followUp.follow([outcome])
            }
        } catch {
            tools.logger.error(
                "cannot store how an attempt ended", metadata: ["task": "\(record.id)", "error": "\(error)"])
        }
        if !isOver, let left = run.cookies { cookies.keep(left, of: record.id, record.session.owner) }
        let freesSlot = leave(run, record)
        let signal = tools.slots.signal
        if !ending.isCompleted { signal.changed() } else if freesSlot { signal.slotsFreed() }
    }

    /// - Returns: whether a slot became free.
    private func leave(_ run: TransferRun, _ record: TaskRecord) -> Bool {
        rates.apply(.unlimited, of: record)
        defer { run.ended() }
        return runs.remove(run)
    }

    /// Reports the result of the attempt to the host's gate.
    private func report(_ ending: AttemptEnding, of record: TaskRecord, _ run: TransferRun) {
        var report: HostGates.Report =
            switch ending {
            case .completed, .integrityFailed: .answered
            case .blocked, .aborted: .nothing
            case .failed(let failure, _): HostGates.Report(failure)
            }
        if report == .answered, run.hasAnswered { return }
        // A stored answer says nothing about the host.
        if run.isAnsweredByCache { report = .nothing }
        // What a chosen device does not reach, others may. A host that serves other tasks is up, whatever happened to
        // this connection.
        if report == .failed,
            run.interface != nil
                || runs.all.contains(where: { $0.host == record.host && $0 !== run && $0.receives })
        {
            report = .nothing
        }
        // The silent host is another one.
        if report == .failed, run.isElsewhere { report = .refused }
        tools.slots.gates.report(
            report, host: record.host, owner: record.session.owner, task: record.id, startedAt: run.startedAt)
    }

    /// Stores the ending of an attempt; nil if a client's request has already changed the task.
    private func store(
        _ ending: AttemptEnding, _ record: TaskRecord, _ policy: EffectivePolicy, _ run: TransferRun
    ) async throws -> TaskTransitions.Outcome? {
        let event: TaskEvent
        var notes: PendingNotes?
        var offer: CredentialOffer?
        var isDemanded = false
        var ending = await disks.adjusted(ending, of: record.id)
        if case .failed(let failure, let last) = ending, failure.challenge != nil {
            offer = await credentials.offer(after: failure, of: record, policy) { run.set(phase: .authenticating) }
            // The run was stopped while the helper was asked. The next attempt asks again.
            if run.isAborting { (ending, notes) = (.aborted, last) }
        }
        switch ending {
        case .completed(let outcome): return outcome
        case .aborted:
            switch run.takeAbortPlan() {
            case .transition(let wanted): event = wanted
            case .leftToCaller:
                keep(notes, run.metrics, of: run.task)
                return nil
            case nil: event = .preempted()
            }
        case .integrityFailed(let error): event = .integrityFailed(error, places: Mirrors(record.spec).count)
        case .blocked(let error):
            let next = tools.time.reading().wall.advanced(by: Self.longestDiskWait)
            event = .blocked(.disk, error, nextAttemptAt: next)
        case .failed(let failure, let last):
            notes = last
            isDemanded = failure.challenge != nil && policy.answersChallenges || failure.redirect != nil
            isDemanded = isDemanded || offer?.found != nil
            var seen = disks.conditions.adjusted(failure, for: run.directHost)
            offer?.explain(&seen.error)
            if let url = run.secured { run.hsts?.explain(&seen, securing: url) }
            event = .attemptFailed(seen, policy.retry, jitter: Double.random(in: 0..<1))
        }
        let outcome = try await tools.transitions.endRun(
            of: record.id, event, with: notes, run.metrics,
            asking: policy.asks.isEmpty && !isDemanded ? nil : policy, offering: offer, patience: tools.patience)
        // Only after the task is stored as waiting. Otherwise a check of the disks in between would find no waiting
        // task, and would be the last check.
        if ending.diskError != nil { disks.conditions.set(needsPolling: true) }
        return outcome
    }

    /// The caller who stopped the run does not know its exchanges. What is handed to the store now is written before
    /// the caller's own change, which has waited long enough.
    private func keep(_ notes: PendingNotes?, _ metrics: TaskMetrics, of id: TaskID) {
        let metrics = StoredMetrics(metrics)
        guard notes != nil || metrics != nil else { return }
        tools.patience.store.write({ transaction in
            try notes?.store(in: transaction)
            if let metrics { try transaction.add(metrics, to: id) }
        }) { _ in }
    }
}
