import TransferModel

/// Decides what a node of the fleet does: which jobs it claims, what becomes of their tasks, and what the table hears.
/// It has no clock, no socket and no random source.
///
/// Times are lengths on the boot clock. `Work` holds what is known of each job; `pump` sends whatever its stage waits
/// for, as soon as the connection is there.
struct NodeMachine: Sendable {
    private(set) var settings: NodeSettings
    private(set) var works: [JobKey: Work] = [:]
    private var keys: [TaskID: JobKey] = [:]
    private var ledger = EventLedger()
    private var pace = ClaimPace()
    private var renewals = RenewalPace()
    private var hasDatabase = false
    private var hasDld = false
    private var dldWentAt: Duration
    private var leases = Comparison()
    private var listing = Listing()
    /// When the rest is handed back: because of SIGTERM, and because of `drain`.
    private var terminatesAt: Duration?
    private var drainsAt: Duration?
    private var drainsSince: Duration?
    private var hasExited = false
    private var isReady = false
    private var status = ""
    private var taskErrors = 0
    private var now: Duration
    private var random = 0.0
    private var effects: [Effect] = []

    private static let retryDelay = Duration.seconds(1)
    /// How long a process that must end waits for the answers of what it hands back.
    private static let exitGrace = Duration.seconds(10)

    init(settings: NodeSettings, at now: Duration) {
        (self.settings, self.now, dldWentAt) = (settings, now, now)
    }

    /// - Parameters:
    ///   - now: the boot clock; never less than before.
    ///   - random: 0..<1, new for each call.
    mutating func handle(_ input: Input, at now: Duration, random: Double) -> [Effect] {
        (self.now, self.random, effects) = (now, random, [])
        apply(input)
        pump()
        return effects
    }

    /// Jobs that the table counts as leased by this node.
    var leaseCount: Int { works.values.reduce(0) { $0 + ($1.holdsLease ? 1 : 0) } }

    private mutating func apply(_ input: Input) {
        switch input {
        case .databaseCame: databaseCame()
        case .databaseWent: databaseWent()
        case .claimed(let jobs, let sentAt): claimed(jobs, sentAt)
        case .claimFailed:
            pace.restart()
            (leases.isWanted, leases.retryAt) = (true, now + Self.retryDelay)
        case .leases(let jobs): compare(jobs)
        case .leasesFailed:
            guard leases.isOutstanding else { return }
            (leases.isOutstanding, leases.retryAt) = (false, now + Self.retryDelay)
        case .renewed(let verdicts, let drain, let sentAt): renewed(verdicts, drain, sentAt)
        case .renewalFailed: renewalFailed()
        case .finished(let key, let state): finished(key, state)
        case .released(let key, let state): released(key, state)
        case .notified(.jobs(let pool)):
            if settings.policy.pools.contains(pool) { pace.notified(at: now, random: random) }
        case .notified(.control): renewals.isWanted = true
        case .dldCame(let tasks): dldCame(tasks)
        case .dldWent: dldWent()
        case .listed(let tasks):
            listing.isOutstanding = false
            absorb(tasks)
        case .event(let event): self.event(event)
        case .added(let key, let answer): added(key, answer)
        case .stopped(let key, let hasEnded): stopped(key, hasEnded)
        case .collected(let key, let resume):
            if works[key]?.stage == .collecting { move(key, .releasing(resume)) }
        case .inspected(let key, let report): inspected(key, report)
        case .controlled(let key): works[key]?.isAsked = false
        case .discarded(let key): if case .discarding? = works[key]?.stage { drop(key) }
        case .answered(let sequence): ledger.settle(question: sequence)
        case .unanswered(let key): unanswered(key)
        case .tick: break
        case .terminate:
            terminatesAt = terminatesAt == nil ? now + settings.drainLimit : now
            log("The node ends; \(leaseCount) jobs are left.")
        case .settings(var new):
            new.name = settings.name
            settings = new
            renewals.isWanted = true  // The table has leases of the old length.
            if hasDatabase { effects.append(.register) }
            if hasDld { effects.append(.openSession) }
        }
    }
}

// MARK: - The database

extension NodeMachine {
    private mutating func databaseCame() {
        guard !hasDatabase else { return }
        (hasDatabase, leases.isWanted, leases.retryAt) = (true, true, nil)
        renewals.restart()
        pace.restart()
        log("The database is there.")
        if !isReady { effects.append(.ready) }
        isReady = true
    }

    private mutating func databaseWent() {
        guard hasDatabase else { return }
        hasDatabase = false
        if pace.outstanding != nil { pace.restart() }
        leases.isOutstanding = false
        if renewals.isOutstanding { renewalFailed() }
        forget { $0.isOfDatabase }
        log("The database is away.", isWarning: true)
    }

    private mutating func claimed(_ jobs: [LeasedJob], _ sentAt: Duration) {
        guard pace.outstanding != nil else { return }
        pace.answered(jobs.count, at: now, random: random, handBackAfter: settings.handBackAfter)
        for job in jobs where works[job.key] == nil { works[job.key] = Work(job: job, certain: sentAt, at: now) }
    }

    /// Compares what the table says this node holds with what the node knows.
    private mutating func compare(_ jobs: [LeasedJob]) {
        guard leases.isOutstanding else { return }
        let settled = leases.settled
        leases = Comparison(isKnown: true)
        renewals.isWanted = true
        let held = Dictionary(jobs.map { ($0.key, $0) }) { first, _ in first }
        for (key, job) in held where !settled.contains(key) {
            guard let work = works[key] else {
                works[key] = Work(job: job, certain: nil, at: now)
                // Its task may be in a list that is still to come.
                if !hasDld { works[key]?.addition = .unsure }
                continue
            }
            if case .discarding = work.stage { continue }
            works[key]?.job = job
            if work.stage == .unknown { reconcile(key) }
        }
        for (key, work) in works.sorted(by: { $0.key < $1.key }) where held[key] == nil {
            switch work.stage {
            case .unknown: reconcile(key)
            case .adding, .running, .stopping, .collecting: lose(key)
            // The table answers these itself.
            case .inspecting, .telling, .releasing, .discarding: break
            }
        }
    }

    private mutating func renewed(_ verdicts: [JobKey: Input.Verdict], _ drain: Input.Drain?, _ sentAt: Duration) {
        renewals.answered()
        if let drain {
            let since = drainsSince ?? now
            if drainsSince == nil { log("The node drains.") }
            (drainsSince, drainsAt) = (since, since + (drain.limit ?? settings.drainLimit))
        } else {
            if drainsAt != nil {
                pace.restart()
                log("The node works again.")
            }
            (drainsSince, drainsAt) = (nil, nil)
        }
        for (key, verdict) in verdicts.sorted(by: { $0.key < $1.key }) {
            guard let work = works[key], work.holdsLease else { continue }
            switch verdict {
            case .ok: works[key]?.certain = max(work.certain ?? sentAt, sentAt)
            case .cancel:
                works[key]?.certain = max(work.certain ?? sentAt, sentAt)
                if work.isLive { stop(key, then: .tell(Work.End(outcome: .cancelled, detail: .null))) }
            case .lost:
                switch work.stage {
                case .unknown, .adding, .running, .stopping, .collecting: lose(key)
                // The renewal may have been overtaken by the end, and that has an answer of its own.
                case .inspecting, .telling, .releasing, .discarding: break
                }
            }
        }
    }

    private mutating func renewalFailed() {
        renewals.failed(retryAt: now + Self.retryDelay)
        for key in works.keys { works[key]?.storedProgress = nil }
    }

    private mutating func finished(_ key: JobKey, _ state: String?) {
        guard let work = works[key], case .telling(let end) = work.stage, work.isAsked else { return }
        guard let state else { return lose(key) }
        log("The job is \(state).", key, code: end.code)
        if end.outcome == .done { pace.done() }
        if work.isLimited { pace.notified(at: now, random: random) }
        ledger.settle(key)
        discard(key, keepsFile: end.outcome == .done)
    }

    private mutating func released(_ key: JobKey, _ state: String?) {
        guard let work = works[key], case .releasing(let resume) = work.stage, work.isAsked else { return }
        // A refusal may also mean that the first answer was lost.
        guard state != nil || resume != nil else { return lose(key) }
        log("The job was handed back.", key)
        ledger.settle(key)
        // The bytes are the task's as long as dld remembers it.
        if resume != nil { drop(key) } else { discard(key) }
    }

    /// The job is another's.
    private mutating func lose(_ key: JobKey) {
        log("The lease is lost.", key, isWarning: true)
        ledger.settle(key)
        discard(key)
    }

    /// Nothing of the task may remain but the result; except where another node's file has the same name.
    private mutating func discard(_ key: JobKey, keepsFile: Bool = false) {
        let isNamedAlike = works[key]?.marks.isSuperset(of: [.shared, .overwrites]) == true
        move(key, .discarding(deleteFile: !keepsFile && !isNamedAlike))
    }
}

// MARK: - dld

extension NodeMachine {
    private mutating func dldCame(_ tasks: [LocalTask]) {
        guard !hasDld else { return }
        hasDld = true
        ledger.restart()
        let present = Set(tasks.map(\.key))
        for key in works.keys where !present.contains(key) { works[key]?.addition = .none }
        for task in tasks {
            guard let work = works[task.key] else { continue }
            works[task.key]?.isHeld = task.state == .paused && work.isLimited
        }
        absorb(tasks)
    }

    private mutating func dldWent() {
        guard hasDld else { return }
        (hasDld, dldWentAt, listing.isOutstanding) = (false, now, false)
        forget { !$0.isOfDatabase }
        for key in works.keys where works[key]?.addition == .outstanding { works[key]?.addition = .unsure }
    }

    /// Compares dld's tasks with what the node knows.
    private mutating func absorb(_ tasks: [LocalTask]) {
        (listing.isWanted, listing.last) = (false, now)
        for task in tasks {
            keys[task.id] = task.key
            if works[task.key] == nil {
                works[task.key] = Work(task: task, at: now)
                if leases.isKnown { reconcile(task.key) }
            } else {
                adopt(task.id, task.key)
                works[task.key]?.marks.formUnion(task.marks)
                note(task.state, task.wait, of: task.key)
            }
        }
        let present = Set(tasks.map(\.key))
        for (key, work) in works where !present.contains(key) {
            if work.addition == .unsure { works[key]?.addition = .none }
            // Its token tells whether somebody removed it.
            if work.stage == .running {
                works[key]?.task = nil
                move(key, .adding)
            }
            if work.stage == .unknown { drop(key) }
        }
    }

    private mutating func reconcile(_ key: JobKey) {
        guard let work = works[key] else { return }
        if let stage = Work.stage(isLeased: work.job != nil, task: work.task == nil ? nil : work.state) {
            move(key, stage)
        } else {
            drop(key)
        }
    }

    private mutating func adopt(_ task: TaskID, _ key: JobKey) {
        works[key]?.task = task
        works[key]?.addition = .none
        keys[task] = key
        if works[key]?.stage == .adding { move(key, .running) }
    }

    private mutating func event(_ event: TaskEvent) {
        let key = event.key ?? keys[event.task]
        guard let key, let work = works[key] else { return ledger.note(event.sequence) }
        if work.task == nil { adopt(event.task, key) }
        switch event.change {
        case .state(let state, let wait):
            ledger.note(event.sequence, endOf: state.isFinal && !work.isSettled ? key : nil)
            if state == .failed { taskErrors += 1 }
            note(state, wait, of: key)
        case .progress(let bytes, let total, let rate):
            works[key]?.progress = Work.Progress(bytes: bytes, total: total, rate: rate)
            if let old = work.progress, bytes > old.bytes { works[key]?.stuck = nil }
        case .redirect(let decision, let url):
            if let error = settings.policy.refusal(ofRedirectTo: url) {
                ledger.note(event.sequence, endOf: work.isSettled ? nil : key)
                if work.isLive { stop(key, then: .tell(end(of: work, error))) }
            } else {
                ledger.note(event.sequence, isQuestion: true)
                if let sequence = event.sequence {
                    effects.append(.follow(decision: decision, sequence: sequence))
                }
            }
        case .other: ledger.note(event.sequence)
        }
    }

    /// A task is in this state, by an event or in a list.
    private mutating func note(_ state: TaskState, _ wait: Wait?, of key: JobKey) {
        guard var work = works[key] else { return }
        work.state = state
        works[key] = work
        switch work.stage {
        case .running:
            switch state {
            case .completed, .failed, .cancelled: move(key, .inspecting)
            case .waiting: works[key]?.stuck = Work.stuck(wait, after: work.stuck, at: now)
            case .paused:
                if !work.isHeld, work.stuck?.cause != .paused {
                    works[key]?.stuck = Work.Stuck(cause: .paused, since: now, error: .cancelled)
                }
            case .queued, .running: if work.stuck?.cause == .paused { works[key]?.stuck = nil }
            }
        case .stopping(let next):
            switch state {
            case .completed: move(key, .inspecting)
            case .failed, .cancelled: move(key, next.stage)
            case .queued, .running, .waiting, .paused: break
            }
        case .collecting: if state == .completed { move(key, .inspecting) }
        case .unknown, .adding, .inspecting, .telling, .releasing, .discarding: break
        }
    }

    private mutating func added(_ key: JobKey, _ answer: Input.AddAnswer) {
        guard let work = works[key] else {
            listing.isWanted = true
            return
        }
        // An event may have told of the task before, but not of its marks.
        if case .task(_, _, let marks) = answer { works[key]?.marks.formUnion(marks) }
        guard work.addition == .outstanding else { return }
        works[key]?.addition = .none
        switch answer {
        case .task(let task, let state, _):
            adopt(task, key)
            if state.isFinal { note(state, nil, of: key) }
        case .removed: if work.stage == .adding { endCancelled(key) }
        case .refused(let error): if work.stage == .adding { refused(key, work, error) }
        }
    }

    private mutating func refused(_ key: JobKey, _ work: Work, _ error: JobError) {
        switch ErrorCode(rawValue: error.code) {
        case .tokenReused? where !work.hasReusedToken:
            works[key]?.hasReusedToken = true
            works[key]?.addition = .unsure
            unanswered(key)
        case .tokenReused?: endCancelled(key)
        case .sessionNotFound?, .sessionInvalidated?, .shuttingDown?:
            effects.append(.openSession)
            unanswered(key)
        case .some where settings.policy.isLocal(error): leaveLocally(key, error)
        case .some, nil:
            if work.usesResumeData, work.job?.resume != nil {
                works[key]?.usesResumeData = false
                move(key, .adding)
            } else {
                move(key, .telling(end(of: work, error)))
            }
        }
    }

    private mutating func stopped(_ key: JobKey, _ hasEnded: Bool) {
        guard case .stopping(let next)? = works[key]?.stage else { return }
        if hasEnded { move(key, .inspecting) } else { move(key, next.stage) }
    }

    private mutating func inspected(_ key: JobKey, _ report: EndReport?) {
        guard let work = works[key], work.stage == .inspecting else { return }
        guard let report else { return work.job == nil ? drop(key) : endCancelled(key) }
        works[key]?.state = report.state
        switch report.state {
        case .completed:
            let result = report.result(node: settings.name, epoch: key.epoch)
            works[key]?.marks.formUnion(report.marks)
            move(key, .telling(Work.End(outcome: .done, detail: result)))
        case .failed:
            let error = report.error ?? .cancelled
            if settings.policy.isLocal(error) { return leaveLocally(key, error) }
            move(key, .telling(end(of: work, error, retryAfter: report.retryAfter)))
        case .cancelled: endCancelled(key)
        case .queued, .running, .waiting, .paused: move(key, .running)
        }
    }

    private mutating func endCancelled(_ key: JobKey) {
        guard let work = works[key] else { return }
        move(key, .telling(end(of: work, .cancelled)))
    }

    /// The node's disk or one of its limits is at fault.
    private mutating func leaveLocally(_ key: JobKey, _ error: JobError) {
        log("This node cannot do the job now: \(error.message)", key, code: error.code, isWarning: true)
        pace.diskFull(until: now + settings.handBackAfter)
        move(key, .releasing(nil))
    }

    private func end(of work: Work, _ error: JobError, retryAfter: Duration? = nil) -> Work.End {
        work.end(error, retryAfter: retryAfter, settings, random: random)
    }

    private mutating func stop(_ key: JobKey, then next: Work.Next) {
        guard let work = works[key] else { return }
        let hasNone = work.task == nil && work.addition == .none
        move(key, hasNone ? next.stage : .stopping(next))
    }
}

// MARK: - Calls

extension NodeMachine {
    private mutating func move(_ key: JobKey, _ stage: Work.Stage) { works[key]?.move(to: stage) }

    private mutating func drop(_ key: JobKey) {
        guard let work = works.removeValue(forKey: key) else { return }
        if let task = work.task { keys[task] = nil }
        ledger.settle(key)
        if leases.isOutstanding { leases.settled.insert(key) }
    }

    private mutating func forget(_ isLost: (Work.Stage) -> Bool) {
        for (key, work) in works where isLost(work.stage) {
            works[key]?.isAsked = false
            works[key]?.retryAt = nil
        }
    }

    private mutating func unanswered(_ key: JobKey) {
        guard let work = works[key] else { return }
        // What a running task waited for was a pause or its end.
        if work.isAsked, work.task != nil, work.stage == .running || work.stage == .unknown {
            works[key]?.isHeld.toggle()
        }
        works[key]?.isAsked = false
        works[key]?.retryAt = now + Self.retryDelay
        if work.addition != .none {
            works[key]?.addition = .unsure
            listing.isWanted = true
        }
    }

    private mutating func log(_ text: String, _ key: JobKey? = nil, code: String? = nil, isWarning: Bool = false) {
        let task = key.flatMap { works[$0]?.task }
        effects.append(.log(Effect.LogLine(text: text, isWarning: isWarning, job: key, task: task, code: code)))
    }

    /// Sends what can be sent now.
    private mutating func pump() {
        guard !hasExited else { return }
        passTimes()
        let due = works.lazy.filter { [now] _, work in !work.isAsked && work.retryAt.map { $0 > now } != true }
        for key in due.map(\.key).sorted() { call(key) }
        if leases.isWanted, hasDatabase, !leases.isOutstanding, pace.outstanding == nil, leases.retryAt ?? now <= now {
            leases.isOutstanding = true
            effects.append(.leases)
        }
        if let moment = renewalMoment, moment <= now { renew() }
        if let moment = claimMoment, moment <= now { effects.append(.claim(pace.begin(room: room))) }
        if let moment = listingMoment, moment <= now {
            listing.isOutstanding = true
            effects.append(.list)
        }
        if hasDld, let number = ledger.next() { effects.append(.acknowledge(number)) }
        report()
    }

    /// Does what only the clock asks for.
    private mutating func passTimes() {
        let isOver = handBackMoment.map { $0 <= now } == true
        let due = works.lazy.filter { [now, settings] _, work in
            work.isLive && (isOver || work.leaves(settings).map { $0 <= now } == true)
        }
        for key in due.map(\.key).sorted() {
            guard let work = works[key] else { continue }
            if let moment = work.leaves(settings), moment <= now, let stuck = work.stuck {
                switch stuck.cause {
                case .network, .paused:
                    for (key, work) in works.leaving(with: key, settings, at: now) {
                        stop(key, then: .tell(end(of: work, stuck.error ?? .cancelled)))
                    }
                case .disk:
                    log("The disk has had no room for the job for too long.", key, isWarning: true)
                    pace.diskFull(until: now + settings.handBackAfter)
                    stop(key, then: .release)
                }
            } else if isOver, work.job != nil {
                let keepsBytes = work.stage == .running && work.marks.contains(.shared) && work.task != nil
                if keepsBytes { move(key, .collecting) } else { stop(key, then: .release) }
            }
        }
    }

    private mutating func call(_ key: JobKey) {
        switch works[key]?.ask(hasDatabase: hasDatabase, hasDld: hasDld, settings, at: now, random: random) {
        case .effect(let effect): effects.append(effect)
        case .drop: drop(key)
        case .wait, nil: break
        }
    }

    private mutating func renew() {
        let held = works.filter(\.value.holdsLease).sorted { $0.key < $1.key }
        let list = held.map { key, work -> Effect.Renewal in
            let mayStore = work.progressStoredAt.map { $0 + settings.progressInterval <= now } ?? true
            guard mayStore, work.progress != work.storedProgress else { return Effect.Renewal(key: key) }
            works[key]?.storedProgress = work.progress
            works[key]?.progressStoredAt = now
            return Effect.Renewal(key: key, progress: work.progress)
        }
        renewals.begin(at: now)
        let running = held.count { $0.value.state == .running }
        effects.append(.renew(list, Effect.Figures(running: running, hasDld: hasDld, taskErrors: taskErrors)))
    }

    private mutating func report() {
        let text =
            "\(leaseCount) leases; the database is \(hasDatabase ? "there" : "away")\(handBackMoment != nil ? "; drains" : "")"
        if text != status { effects.append(.status(text)) }
        status = text
        let isDone = pace.outstanding == nil && works.values.allSatisfy { !$0.holdsLease && !hasDld }
        guard let terminatesAt, isDone || now >= terminatesAt + Self.exitGrace else { return }
        hasExited = true
        effects.append(.exit)
    }
}

// MARK: - Times

extension NodeMachine {
    private var room: Int { max(settings.capacity - leaseCount, 0) }

    private var handBackMoment: Duration? { [terminatesAt, drainsAt].compactMap { $0 }.min() }

    /// Without dld its tasks do not run, and others may have the jobs after a while.
    private var dldIsLost: Bool { !hasDld && dldWentAt + settings.lease <= now }

    private var renewalMoment: Duration? {
        guard hasDatabase, !renewals.isOutstanding, !dldIsLost else { return nil }
        let held = works.values.filter(\.holdsLease)
        if held.isEmpty, drainsAt == nil, !renewals.isWanted { return nil }
        return renewals.moment(of: held, settings)
    }

    private var claimMoment: Duration? {
        guard hasDatabase, hasDld, leases.isKnown, !leases.isWanted, !leases.isOutstanding, pace.outstanding == nil,
            handBackMoment == nil, room > 0, !works.values.contains(where: { $0.mayHaveExpired(settings, at: now) })
        else { return nil }
        return pace.moment(isIdle: leaseCount == 0, poll: settings.poll)
    }

    private var listingMoment: Duration? {
        guard hasDld, !listing.isOutstanding, listing.isWanted || !works.isEmpty else { return nil }
        return listing.last + (listing.isWanted ? Self.retryDelay : settings.lease)
    }

    /// When the next `tick` is due at the latest; nil: only after another input.
    var wakesAt: Duration? {
        let exit = terminatesAt.map { $0 + Self.exitGrace }
        var moments = [renewalMoment, claimMoment, listingMoment, handBackMoment, exit]
        if leases.isWanted, hasDatabase, !leases.isOutstanding { moments.append(leases.retryAt) }
        for work in works.values {
            if !work.isAsked { moments.append(work.retryAt) }
            if work.isLive { moments.append(work.leaves(settings)) }
            if work.isLimited, work.isLive, !work.isHeld, !work.isAsked, !work.state.isFinal, hasDld {
                moments.append(work.uncertain(settings))
            }
        }
        // What is overdue waits for an answer, or was sent in the last step.
        return hasExited ? nil : moments.compactMap { $0 }.filter { $0 > now }.min()
    }
}
