import FileKit
import Logging
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Pause, resume, cancel, retry and remove: one event of the task machine for each selected task, in batches that do
/// not delay others.
struct TaskController: TaskControlling {
    let store: TransferStore
    let files: TransferFiles
    let runs: RunTable
    let stops: RunStops
    let transitions: TaskTransitions
    let leftParts: LeftParts
    let gates: Gatekeeper
    let launches: LaunchService?
    let signal: SupervisionSignal
    let logger: Logger

    func control(_ action: TaskAction, _ target: ControlTarget) async throws -> ControlResult {
        var outcome = ControlResult()
        if case .remove(deleteFile: true) = action { outcome.files = [] }
        switch target.scope {
        case .ids(let ids):
            for chunk in ids.chunked(Self.chunkSize) {
                try await control(action, chunk, target, isNamed: true, into: &outcome)
            }
        case .range(let range):
            try await control(action, TaskQuery(range: range), target, into: &outcome)
        case .session(let identifier):
            try await control(
                action, TaskQuery(range: target.range, session: identifier), target, into: &outcome)
        case .all:
            try await control(action, TaskQuery(), target, into: &outcome)
        }
        if !outcome.changed.isEmpty { signal.changed() }
        return outcome
    }

    private static let losesAll =
        "It cannot resume at its current offset: after resume it begins again from 0."

    /// Tasks in one transaction. That takes the writer a few milliseconds, and each commit is lasting progress.
    private static let chunkSize = 256

    private func control(
        _ action: TaskAction, _ selector: TaskQuery, _ target: ControlTarget, into outcome: inout ControlResult
    ) async throws {
        var selector = selector
        selector.owner = target.owner.owner
        selector.states = target.states ?? action.natural
        let chosen = selector
        try await store.forEachPage {
            try $0.select(chosen, after: $1, limit: Self.chunkSize)
        } do: { ids in
            try await control(action, ids, target, isNamed: false, into: &outcome)
        }
    }

    private func control(
        _ action: TaskAction, _ ids: [TaskID], _ target: ControlTarget, isNamed: Bool,
        into outcome: inout ControlResult
    ) async throws {
        let meant = try await store.read { try $0.heads(ids) }.filter { isMeant($0, by: target) }
        let losing = losing(by: action, among: meant)
        // The results, and the tasks that had been attempted, as they were before.
        let change = { () async throws -> (results: [ControlledTask], attempted: [TaskRecord]) in
            // Part files are removed first. If the daemon dies in between, an unwanted task starts over, but no file is
            // left behind.
            let parts = try await leftParts.discardParts(of: meant.map(\.id), for: action)
            let sources = action == .resend ? await sources(of: meant.map(\.id)) : [:]
            let results = try await store.write { [transitions] transaction in
                let results = try transitions.control(
                    action, ids, target, wasFinal: parts.wasFinal, sources: sources, in: transaction)
                try transaction.note(parts.left(by: results))
                return results
            }
            leftParts.didNote(parts.left(by: results))
            return (results, parts.attempted)
        }
        // If an ended task is tried again, its part file has the same name, and must not go with the removal.
        var done =
            action.isRemoval
            ? try await stops.holding(meant.map(\.id), change)
            : try await stops.stopping(action.stopsRuns ? meant.map(\.id) : [], change)
        if action == .retry || action == .resend { done.results = try await tryHeldHosts(done.results, meant) }
        var changed: [TaskHead] = []
        for result in done.results {
            switch result {
            case .changed(let head): changed.append(head)
            case .skipped(let id, let code):
                if isNamed || code != .taskNotFound { outcome.skipped.append(.init(id: id, code: code)) }
            }
        }
        outcome.changed += changed.map(\.id)
        let warned = changed.map(\.id).filter(losing.contains)
        if !warned.isEmpty {
            outcome.warnings = (outcome.warnings ?? []) + warned.map { .init(id: $0, message: Self.losesAll) }
        }
        log(action, changed)
        if case .remove(deleteFile: true) = action {
            let removed = Set(changed.map(\.id))
            let deleted = await files.deleteDelivered(
                done.attempted.filter { removed.contains($0.id) && $0.result?.file != nil })
            for file in deleted {
                guard let reason = file.reason else { continue }
                logger.warning("a file stays", metadata: ["task": "\(file.id)", "error": "\(reason)"])
            }
            outcome.files? += deleted
        }
        // A disconnected subscriber may have to be told.
        if action.isEnding { for session in Set(changed.map(\.session)) { launches?.look(at: session) } }
    }

    /// Returns the files that these tasks send, as they are now. If the store keeps the content, the file is copied
    /// again.
    private func sources(of ids: [TaskID]) async -> [TaskID: Result<FreshSource, TransferError>] {
        var sources: [TaskID: Result<FreshSource, TransferError>] = [:]
        for record in (try? await store.read({ try $0.tasks(ids) })) ?? [] {
            guard let path = record.spec.source?.path ?? record.spec.body?.file else { continue }
            do {
                sources[record.id] = .success(
                    try await files.fresh(path, of: record, copyingUpTo: Admission.copiedBody))
            } catch {
                sources[record.id] = .failure(
                    error as? TransferError ?? TransferError(.sourceUnreadable, "\(path): \(error)"))
            }
        }
        return sources
    }

    /// Tries each held host at once, with the first of its retried tasks. A queued task can be retried if its host
    /// holds it back.
    private func tryHeldHosts(_ results: [ControlledTask], _ heads: [TaskHead]) async throws -> [ControlledTask] {
        guard gates.mayHoldHosts else { return results }
        let queued = Dictionary(heads.filter { $0.status.state == .queued }.map { ($0.id, $0) }) { first, _ in first }
        let ids = results.compactMap { result -> TaskID? in
            switch result {
            case .changed(let head): head.id
            case .skipped(let id, _): queued[id]?.id
            }
        }
        let hosts = try await store.read { try $0.tasks(ids) }.map { ($0.id, $0.host) }
        let hostOf = Dictionary(hosts) { first, _ in first }
        var tried: Set<HostGates.Scope> = []
        return results.map { result in
            switch result {
            case .changed(let head):
                let owner = head.session.owner
                if let host = hostOf[head.id], tried.insert(.init(host: host, owner: owner)).inserted {
                    _ = gates.tryNow(head.id, host: host, owner: owner)
                }
            case .skipped(let id, .taskWrongState):
                if let head = queued[id], let host = hostOf[id],
                    gates.tryNow(id, host: host, owner: head.session.owner)
                {
                    return .changed(head)
                }
            case .skipped: break
            }
            return result
        }
    }

    /// Returns the runs that `action` would stop with a loss of useful progress.
    private func losing(by action: TaskAction, among heads: [TaskHead]) -> Set<TaskID> {
        action == .pause ? Set(heads.map(\.id).filter { runs[$0]?.losesByStop == true }) : []
    }

    /// Logs one line for many tasks: a hundred thousand lines help nobody.
    private func log(_ action: TaskAction, _ changed: [TaskHead]) {
        guard let first = changed.first, let last = changed.last else { return }
        func word(_ head: TaskHead) -> Logger.Message {
            action.isRemoval ? "removed" : "\(head.status.state.rawValue)"
        }
        guard changed.count > Self.mostLogged else {
            for head in changed {
                logger.info(word(head), metadata: ["task": "\(head.id)", "owner": "\(head.session.owner)"])
            }
            return
        }
        logger.info(
            word(first), metadata: ["tasks": "\(changed.count)", "first": "\(first.id)", "last": "\(last.id)"])
    }

    private static let mostLogged = 16

    private func isMeant(_ head: TaskHead, by target: ControlTarget) -> Bool {
        target.owner.includes(head.session.owner) && target.states?.contains(head.status.state) ?? true
    }
}

extension TaskAction {
    var isRemoval: Bool { if case .remove = self { true } else { false } }
    var isEnding: Bool { if case .cancel = self { true } else { false } }

    /// The states that an action without a selector of states applies to if it selects many tasks.
    var natural: Set<TaskState> {
        switch self {
        case .pause: [.queued, .running, .waiting]
        case .resume: [.paused]
        case .retry, .resend: [.waiting, .failed, .cancelled]
        case .cancel: [.queued, .running, .waiting, .paused]
        case .remove: [.completed, .failed, .cancelled]
        }
    }

    var stopsRuns: Bool { self == .pause || isEnding }

    /// Tells whether the task loses its bytes by this action, including bytes from which it could not resume.
    fileprivate func discardsPart(of head: TaskHead) -> Bool {
        switch self {
        case .cancel(let keepPartial): !head.status.state.isFinal && !(keepPartial && head.hasCheckpoint)
        case .remove: head.status.state.isFinal
        case .pause, .resume, .retry, .resend: false
        }
    }
}

/// What was found and done with the part files of tasks before a request is stored.
struct DiscardedParts {
    /// Tasks that were attempted. Others have neither a part file nor a file.
    var attempted: [TaskRecord] = []
    var wasFinal: [TaskID: Bool] = [:]
    /// Part files whose disk is unavailable.
    var left: [LeftPart] = []

    /// The part files of tasks that were changed. Other tasks may still need theirs.
    func left(by results: [ControlledTask]) -> [LeftPart] {
        guard !left.isEmpty else { return [] }
        let changed = Set(
            results.compactMap { result -> TaskID? in
                if case .changed(let head) = result { head.id } else { nil }
            })
        return left.filter { changed.contains($0.task) }
    }
}

extension LeftParts {
    /// Removes the part files of the tasks that lose their bytes by this action.
    func discardParts(of ids: [TaskID], for action: TaskAction) async throws -> DiscardedParts {
        // After the others, something follows automatically that would use a part file.
        guard action.isEnding || action.isRemoval else { return DiscardedParts() }
        var parts = try await patience.store.read { snapshot in
            let heads = try snapshot.heads(ids)
            let losing = heads.filter { $0.mayHavePart && action.discardsPart(of: $0) }
            return DiscardedParts(
                attempted: try snapshot.tasks(losing.map(\.id)),
                wasFinal: Dictionary(heads.map { ($0.id, $0.status.state.isFinal) }) { first, _ in first })
        }
        parts.left = await files.discardParts(of: parts.attempted, at: time.reading().wall)
        return parts
    }
}
