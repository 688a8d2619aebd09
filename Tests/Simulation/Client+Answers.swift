import DaemonKit
import TransferModel
import TransferRPC

/// Clients answer the questions of tasks: late, twice, differently than before, or never.
extension Client {
    /// - Parameter late: Whether the answer may be late.
    func answer(_ daemon: SimulatedDaemon, late: Bool = true) {
        Task {
            do {
                let decisions = daemon.supervision.services.decisions
                let open = try await decisions.list(
                    owner: Self.user, sessions: nil, tasks: nil, for: Self.peer
                ).decisions
                for question in open where answers[question.decision] != nil {
                    world.violate("question \(question.decision) is open, though its answer was acknowledged")
                }
                guard !open.isEmpty else { return }
                let asked = open[world.random.below(open.count)]
                world.tls.check(asked)
                if late, world.random.chance(200) { try await Task.sleep(for: .seconds(world.random.below(100))) }
                guard try await answer(asked, action(asked), decisions) else { return }
                // The same answer again is accepted unless the task asks something else. A different answer never is.
                if world.random.chance(300), let same = answers[asked.decision] {
                    _ = try await answer(asked, same, decisions)
                }
                if world.random.chance(300) { _ = try await answer(asked, action(asked), decisions) }
            } catch is CancellationError {
            } catch {
                refused("an answer", error)
            }
        }
    }

    /// For how long a key is trusted: the same whenever the question is answered.
    static func persistence(of id: DecisionID) -> CredentialPersistence? {
        [nil, CredentialPersistence.none, .session, .permanent][Int(id.rawValue % 4)]
    }

    private func action(_ asked: DecisionView) -> DecisionAction {
        let (isDownload, isFetch) = (tasks[asked.task]?.file != nil, tasks[asked.task]?.resource != nil)
        let actions = asked.question.actions.filter { action in
            switch action {
            // Other data tasks get bodies of no resource, so the checker could not recognize their files.
            case .becomeDownload: isFetch
            case .followWith, .newRequest: isDownload || isFetch
            case .useCredential, .performDefaultHandling, .rejectProtectionSpace, .trust, .cancel, .follow, .refuse,
                .allow, .continue, .store, .memoryOnly, .doNotStore:
                true
            }
        }
        return actions[world.random.below(actions.count)]
    }

    /// - Returns: Whether the answer was accepted.
    private func answer(
        _ asked: DecisionView, _ action: DecisionAction, _ decisions: any DecisionServing
    ) async throws -> Bool {
        let (id, task) = (asked.decision, asked.task)
        let number = action == .cancel ? begin(.cancel(keepPartial: false), task) : nil
        defer { if action == .cancel { end(task) } }
        world.note("answer \(id) of \(task): \(action.rawValue)")
        do {
            var parameters = AnswerDecision(id: id, action: action)
            if action == .followWith || action == .newRequest {
                parameters.request = TaskRequest(url: asked.question.request?.url, headers: [])
            }
            if action == .becomeDownload, let resource = tasks[task]?.resource {
                let name = "d\(task)"
                for place in 0...Self.mostTasks {
                    wanted[place == 0 ? name : "\(name) (\(place))", default: []].insert(resource)
                }
                parameters.destination = Destination(path: world.folder + "/out/" + name)
            }
            if action == .trust { parameters.persistence = Self.persistence(of: id) }
            if asked.question.protectionSpace?.method == .clientCertificate, action == .useCredential {
                parameters.credential = DecisionCredential(ClientCertificate(certificate: world.tls.certificate))
            } else if action == .useCredential {
                let password = world.isCalm || world.random.chance(500) ? Resource.password : "wrong"
                parameters.credential = DecisionCredential(username: "user", password: password)
            }
            world.tls.grant(asked, parameters, in: Self.key(asked.session))
            _ = try await decisions.answer(parameters, by: Self.peer)
            world.tls.acknowledged(asked, parameters)
            if action == .becomeDownload { mayBeNamed("d\(task)", task) }
        } catch let error as TransferError where error.code == .decisionGone {
            world.note("answer \(id) is gone")
            return false
        }
        let isRepeated = answers[id] != nil
        if let known = answers[id], known != action {
            world.violate("question \(id) was answered \(known.rawValue), then \(action.rawValue), and both were taken")
        }
        answers[id] = action
        // A retry may have come since the first time. Then the repeated answer is accepted and changes nothing.
        if action == .cancel, !isRepeated, promise(.cancelled, task, number) { gaveUp(task) }
        world.note("answer \(id) is taken")
        return true
    }
}
