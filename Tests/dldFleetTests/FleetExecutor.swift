import TransferModel

@testable import dld_fleet

/// Carries out a machine's effects against the models, and sometimes loses an answer after the deed is done.
extension FleetSimulation {
    private static let lostAnswers = 0.02

    func perform(_ effect: Effect, _ node: Node) {
        let name = node.name
        let lease = settings.lease
        switch effect {
        case .claim(let count):
            let sentAt = now
            query(node) { .claimed(self.database.claim(name, count, lease, at: self.now), sentAt: sentAt) }
        case .leases: query(node) { .leases(self.database.leases(name)) }
        case .renew(let renewals, _):
            let sentAt = now
            query(node) {
                let verdicts = self.database.renew(name, renewals.map(\.key), lease, at: self.now)
                let drain = self.database.draining.contains(name) ? Input.Drain(limit: .seconds(10)) : nil
                return .renewed(verdicts, drain: drain, sentAt: sentAt)
            }
        case .finish(let key, let outcome, _, let delay):
            query(node) {
                .finished(key, state: self.database.finish(name, key, outcome, delay, at: self.now))
            }
        case .release(let key, let resume):
            query(node) { .released(key, state: self.database.release(name, key, resume)) }
        case .acknowledge(let number):
            call(node) {
                self.acknowledge(number, node); return nil
            }
        case .exit:
            stop(node)
            after(seconds(1, 60)) { self.start(node) }
        case .add, .stop, .collect, .inspect, .pause, .resume, .discard, .follow, .list: control(effect, node)
        case .openSession, .register, .ready, .status, .log: break
        }
    }

    private func control(_ effect: Effect, _ node: Node) {
        call(node) {
            let (dld, name) = (node.dld, node.name)
            switch effect {
            case .add(let job, _):
                if node.isFull { return .added(job.key, .refused(JobError("disk.full", "", retryable: true))) }
                let answer = dld.add(job, self.marks(of: job))
                if case .task(let id, .queued, _) = answer, dld.tasks[id]?.turn == 0 { self.change(node, id, .queued) }
                return .added(job.key, answer)
            case .stop(let key, let id):
                let state = dld.tasks[id]?.state
                self.change(node, id, .cancelled)
                return .stopped(key, hasEnded: state?.isFinal ?? true)
            case .collect(let key, let id):
                if dld.tasks[id]?.state == .completed { return .unanswered(key) }
                dld.tasks[id]?.keepsBytes = true
                self.change(node, id, .cancelled)
                return .collected(key, resume: dld.tasks[id] == nil ? nil : ["data": "blob"])
            case .inspect(let key, let id): return .inspected(key, dld.report(id))
            case .pause(let key, let id):
                if self.plant != .neverPaused, dld.tasks[id]?.state != .paused { self.change(node, id, .paused) }
                return .controlled(key)
            case .resume(let key, let id):
                if dld.tasks[id]?.state == .paused { self.change(node, id, .queued) }
                return .controlled(key)
            case .discard(let key, let id, let deleteFile):
                let last = self.database.rows[key.id]?.last
                if dld.tasks[id]?.keepsBytes == true, last.map({ $0 == (key.epoch, name, "released") }) == true {
                    self.fail("\(name) drops bytes that it handed back: \(key)")
                }
                self.change(node, id, .cancelled)
                dld.remove(id, deleteFile: deleteFile)
                return .discarded(key)
            case .follow(let decision, let sequence):
                let id = TaskID(decision)
                if dld.tasks[id]?.wait?.reason == "decision" {
                    dld.tasks[id]?.isAnswered = true
                    self.change(node, id, .queued)
                }
                return .answered(sequence: sequence)
            case .list: return .listed(dld.list)
            default: return nil
            }
        }
    }

    private func marks(of job: LeasedJob) -> TaskMarks {
        TaskMarks(job.limited ? [.limited] : []).union(job.key.id % 3 == 0 ? .shared : [])
    }

    /// Calls to dld begin in order; answers overtake each other.
    private func call(_ node: Node, _ run: @escaping () -> Input?) {
        let socket = node.socket
        node.nextCall = max(node.nextCall, now + seconds(0.001, 0.02))
        at(node.nextCall) {
            guard node.socket == socket, node.dld.isUp, node.hasSocket, let answer = run() else { return }
            if self.chance(Self.lostAnswers / 2) { return self.dropSocket(node) }
            self.after(self.seconds(0.001, 0.03)) { if node.socket == socket { self.input(answer, node) } }
        }
    }

    private func query(_ node: Node, _ run: @escaping () -> Input) {
        let connection = node.database
        after(seconds(0.001, 0.05)) {
            guard node.database == connection, node.hasDatabase, self.reaches(node) else { return }
            let answer = run()
            if self.chance(Self.lostAnswers) { return self.dropDatabase(node) }
            self.after(self.seconds(0.001, 0.05)) { if node.database == connection { self.input(answer, node) } }
        }
    }
}
