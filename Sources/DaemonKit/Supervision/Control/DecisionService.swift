import DaemonSetup
import FileKit
import Logging
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Lists questions, and takes the answers of clients.
struct DecisionService: DecisionServing {
    let store: TransferStore
    let runs: RunTable
    let stops: RunStops
    let transitions: TaskTransitions
    let files: TransferFiles
    let leftParts: LeftParts
    let followUp: FollowUp
    let trust: TrustKeeper
    let configuration: @Sendable () -> Configuration
    let signal: SupervisionSignal
    let logger: Logger

    func list(
        owner: UserID?, sessions: [String]?, tasks: [TaskID]?, for peer: Peer
    ) async throws -> (decisions: [DecisionView], isCut: Bool) {
        let limit = Bounds.listedDecisions
        let found = try await store.read { snapshot in
            try snapshot.openDecisions(owner: owner, sessions: sessions, tasks: tasks, limit: limit + 1)
        }
        var room = Bounds.pageBytes
        let listed = found.prefix(limit).enumerated().prefix { index, decision in
            room -= JSONCoding.encode(decision.question).count
            return room >= 0 || index == 0
        }.map(\.element)
        let views = listed.map { decision in
            var view = DecisionView(decision)
            if decision.session.owner != peer.uid {
                view.question.offered = view.question.actions.filter { !$0.isOfTheOwner }
            }
            return view
        }
        return (views, found.count > listed.count)
    }

    func answer(_ parameters: AnswerDecision, by peer: Peer) async throws -> AnsweredDecision {
        let id = parameters.id
        guard let known = try await store.read({ try $0.decision(id) }),
            peer.isAdmin || known.session.owner == peer.uid
        else { throw TransferError.gone(id) }
        let answer = try parameters.answer(to: known, by: peer)
        if known.state == .open, let certificate = answer.credential?.clientCertificate {
            try await files.check(certificate, field: "credential", owner: known.session.owner)
        }
        let stored: Stored
        switch answer.action {
        case .cancel: stored = try await cancelled(known, by: answer)
        case .becomeDownload: stored = try await becameDownload(known, by: answer)
        case .useCredential, .trust, .performDefaultHandling, .rejectProtectionSpace, .follow, .followWith, .refuse,
            .allow, .continue, .newRequest, .store, .memoryOnly, .doNotStore:
            stored = try await store(answer, to: id)
            try await keepTrust(answer, known)
            // The task holds its answer. If the same decision was made before, it may hold another one by now.
            if stored.isNew, known.question.isAboutHeldAnswer { runs[known.task]?.isDecided(answer.action) }
        }
        if let outcome = stored.outcome {
            logger.info(
                "answered",
                metadata: ["task": "\(known.task)", "decision": "\(id)", "action": "\(answer.action.rawValue)"])
            followUp.note(outcome)
            signal.changed()
        }
        return AnsweredDecision(decision: id, task: known.task, action: answer.action)
    }

    /// The store on the disk has the key of a permanent answer since that was stored. For a session in memory it is stored
    /// now, also if an answer is repeated, because it could not be stored before.
    private func keepTrust(_ answer: DecisionAnswer, _ known: DecisionRecord) async throws {
        guard answer.persistence == .permanent, let server = known.question.trustedServer(at: now) else { return }
        guard store.isInMemory else { return try await trust.load() }
        let kind = try await store.read { try $0.session(known.session)?.kind }
        if kind == .default { try await trust.trust(server, of: known.session.owner) }
    }

    private var now: Timestamp { transitions.time.reading().wall }

    /// The task's part file is removed after the answer is stored: if another answer came first, the task needs it.
    private func cancelled(
        _ known: DecisionRecord, by answer: DecisionAnswer
    ) async throws -> Stored {
        guard known.state == .open else { return try await store(answer, to: known.id) }
        return try await stops.stopping([known.task]) {
            let stored = try await store(answer, to: known.id)
            if let outcome = stored.outcome { await leftParts.discard(outcome.record) }
            return stored
        }
    }

    /// The run that holds the answer goes on as a download. If no run holds it any more, it is requested again.
    private func becameDownload(
        _ known: DecisionRecord, by answer: DecisionAnswer
    ) async throws -> Stored {
        // If the same answer came first, the task is a download already.
        let asking = try await store.read { snapshot in
            try snapshot.decision(known.id)?.state == .open ? try snapshot.task(known.task) : nil
        }
        guard let task = asking else { return try await store(answer, to: known.id) }
        guard task.spec.kind == .data else {
            throw TransferError(
                .badField, "action: the task is not a data task; say allow or cancel.", details: ["field": "action"])
        }
        let run = runs[task.id].flatMap { $0.holdsAnswer ? $0 : nil }
        guard run != nil || task.spec.mayBeAskedAgain(known.settled.standing) else {
            throw TransferError(
                .unsupported,
                "action: the answer is not held any more, and the method does not allow to ask again; say cancel.",
                details: ["field": "action"])
        }
        let session = try await store.read { try $0.session(task.session) }
        let admission = Admission(
            owner: task.session.owner, session: session ?? SessionRecord(key: task.session, createdAt: known.askedAt),
            configuration: configuration(), files: files)
        let destination = try admission.complete(answer.destination)
        let device = try await files.admit(
            try DestinationPlan(destination), owner: task.session.owner, field: "destination")
        let save: @Sendable () async throws -> Stored = {
            try await store(answer, to: known.id) { transaction in
                // Other fields may have been changed meanwhile.
                guard var record = try transaction.task(task.id) else { return }
                record.spec.kind = .download
                record.spec.stream = nil
                record.spec.destination = destination
                try transaction.setSpec(task.id, record.spec, host: record.host)
                try transaction.setDestinationDevice(task.id, device)
            }
        }
        guard let run else { return try await stops.stopping([task.id], save) }
        let stored = try await stops.holding([task.id], save)
        // If it ended meanwhile, the next attempt is a download.
        if stored.isNew, !run.isDecided(.becomeDownload) { try await stops.stopping([task.id]) {} }
        return stored
    }

    /// Whether an answer is new, and the outcome of its task if that changed. An answer that repeats an earlier one is
    /// not new.
    private typealias Stored = (isNew: Bool, outcome: TaskTransitions.Outcome?)

    /// - Throws: `decision.gone`.
    private func store(
        _ answer: DecisionAnswer, to id: DecisionID,
        also body: @escaping @Sendable (StoreTransaction) throws -> Void = { _ in }
    ) async throws -> Stored {
        let (transitions, reading, isInMemory) = (transitions, transitions.time.reading(), store.isInMemory)
        let now = reading.wall
        return try await store.write { transaction -> Stored in
            guard let decision = try transaction.decision(id) else { throw TransferError.gone(id) }
            guard decision.state == .open, let record = try transitions.readable(decision.task, in: transaction)
            else {
                if decision.state == .answered, let stored = decision.answer, answer.isSame(as: stored) {
                    return (false, nil)
                }
                guard decision.state != .open else { throw TransferError.gone(id) }
                throw TransferError.closed(decision, task: try transaction.status(of: decision.task))
            }
            var settled = decision.settled
            settled.answered(decision.question, with: answer, at: reading.boot)
            try transaction.answer(id, answer, settled: settled)
            if let server = decision.question.trustedServer(at: now) {
                switch answer.persistence {
                case .session: try transaction.trust(server.key, in: decision.session, at: now)
                case .permanent where !isInMemory: try transaction.trust(server, owner: decision.session.owner)
                // Nothing of an ephemeral session outlives it.
                case .permanent where try transaction.session(decision.session)?.kind == .ephemeral:
                    try transaction.trust(server.key, in: decision.session, at: now)
                case .permanent, .some(.none), nil: break
                }
            }
            try body(transaction)
            switch answer.action {
            case .cancel: return (true, try transitions.apply(.cancel(keepPartial: false), to: record, in: transaction))
            case .becomeDownload, .useCredential, .performDefaultHandling, .rejectProtectionSpace, .trust, .follow,
                .followWith, .refuse, .allow, .continue, .newRequest, .store, .memoryOnly, .doNotStore:
                // A task that does not wait for this answer continues, or finds the answer in its next attempt.
                guard record.status.awaitsAnswer else { return (true, nil) }
                return (true, try transitions.apply(.conditionCleared, to: decision.task, in: transaction))
            }
        }
    }
}

extension Question {
    /// The task may continue to run while the question is open.
    fileprivate var isAboutHeldAnswer: Bool {
        switch kind {
        case .response, .cache: true
        case .challenge, .redirect, .begin: false
        }
    }

    /// The server and the key that `trust` trusts.
    fileprivate func trustedServer(at now: Timestamp) -> TrustedServer? {
        guard let space = protectionSpace, let key else { return nil }
        return TrustedServer(host: space.host, port: space.port, keys: [key], trusted: now)
    }
}

extension TransferError {
    /// The error is the same for another user's question and one that never existed.
    static func gone(_ id: DecisionID) -> TransferError {
        TransferError(
            .decisionGone, "There is no open question \(id); decision.list shows the open ones.",
            details: ["decision": .integer(id.rawValue)])
    }

    /// The error for a question of the peer that takes no answer any more, with what closed it.
    fileprivate static func closed(_ decision: DecisionRecord, task: TaskStatus?) -> TransferError {
        let cause: (word: String, sentence: String) =
            if decision.state == .answered, let action = decision.answer?.action {
                ("answer", "it was answered with \(action.rawValue)")
            } else if let deadline = decision.question.deadline {
                (
                    "deadline",
                    "nobody answered by \(deadline), so the default holds (\(decision.question.default.rawValue))"
                )
            } else if let task, task.state.isFinal {
                ("end", "its task has ended (\(task.state.rawValue))")
            } else {
                ("task", "its task was stopped, or continued without it")
            }
        return TransferError(
            .decisionGone, "Question \(decision.id) is closed: \(cause.sentence).",
            details: ["decision": .integer(decision.id.rawValue), "closedBy": .string(cause.word)])
    }
}

extension AnswerDecision {
    /// - Throws: `request.bad_field`, `request.unsupported`; `permission.denied` if an administrator gives secrets for
    ///   another user's task.
    fileprivate func answer(to decision: DecisionRecord, by peer: Peer) throws(TransferError) -> DecisionAnswer {
        // An action that this task does not offer is refused later, with the reason.
        guard decision.question.actionsOfKind.contains(action) else {
            let actions = decision.question.actions
            throw TransferError.bad("action", "say one of \(actions.map(\.rawValue).joined(separator: ", ")).")
        }
        if credential != nil || request != nil || destination != nil || action.isOfTheOwner {
            guard decision.session.owner == peer.uid else {
                throw TransferError(
                    .permissionDenied,
                    "action: only the owner of task \(decision.task) gives credentials, requests and destinations, and trusts servers.",
                    details: ["field": "action"])
            }
        }
        guard (request != nil) == [.followWith, .newRequest].contains(action) else {
            throw TransferError.bad(
                "request", request == nil ? "missing; it is required." : "is only for followWith and newRequest.")
        }
        guard destination == nil || action == .becomeDownload else {
            throw TransferError.bad("destination", "goes with becomeDownload.")
        }
        guard persistence == nil || action == .trust else {
            throw TransferError.bad("persistence", "is only for trust; for a credential it is credential.persistence.")
        }
        guard (credential != nil) == (action == .useCredential) else {
            throw TransferError.bad(
                "credential", action == .useCredential ? "missing; it is required." : "goes with useCredential.")
        }
        if let destination { try SpecRules(path: "").check(destination) }
        if let request { try SpecRules(path: "request").check(request) }
        guard let credential else {
            return DecisionAnswer(
                action, persistence: action == .trust ? persistence ?? .session : nil, request: request,
                destination: destination)
        }
        try SpecRules(path: "credential").check(credential)
        if decision.question.protectionSpace?.method == .clientCertificate {
            guard let certificate = credential.clientCertificate, credential.username == nil else {
                throw TransferError.bad(
                    "credential", "give the path of a certificate, and of its key if that is in another file.")
            }
            guard credential.persistence.map({ $0 == .none }) ?? true else {
                throw TransferError(
                    .unsupported, "credential.persistence: a certificate is kept for its task alone; say `none`.",
                    details: ["field": "credential.persistence"])
            }
            return DecisionAnswer(action, credential: DecisionCredential(certificate))
        }
        guard let username = credential.username, !username.isEmpty, let password = credential.password,
            credential.certificate == nil,
            credential.key == nil
        else { throw TransferError.bad("credential", "give username and password.") }
        return DecisionAnswer(
            action,
            credential: DecisionCredential(
                username: username, password: password,
                persistence: credential.persistence.flatMap { $0 == .none ? nil : $0 }))
    }
}

/// Recognises a repeated answer after its secrets are forgotten, by a salted digest (SHA-256) of the whole answer.
extension DecisionAnswer {
    /// Returns the answer without its secrets.
    func redacted(salt: UInt64 = .random(in: .min ... .max)) throws -> DecisionAnswer {
        var answer = withoutSecrets
        guard answer != self else { return self }
        let hasher = try FileHasher([.sha256])
        let bytes = Array(String(salt, radix: 16).utf8) + JSONCoding.encode(self)
        bytes.withUnsafeBytes { hasher.update($0) }
        answer.mark = "\(String(salt, radix: 16)):\(hasher.finish()[.sha256] ?? "")"
        return answer
    }

    /// - Parameter stored: possibly without its secrets.
    func isSame(as stored: DecisionAnswer) -> Bool {
        guard let salt = stored.mark.flatMap({ UInt64($0.prefix { $0 != ":" }, radix: 16) }) else {
            return self == stored
        }
        return (try? redacted(salt: salt)) == stored
    }
}
