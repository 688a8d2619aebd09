import CSimulation
import DaemonKit
import TestSupport
import TransferModel
import TransferRPC

/// One `task.add` of a client, which it may repeat. Only one thread uses it, as with everything here.
final class AddCall: @unchecked Sendable {
    let specs: [TaskSpec]
    let known: [Client.Known]
    let session: String?
    let peer: Peer
    /// The time of the first request (virtual time since boot).
    let begun = sim_now()
    /// The ids in the answer.
    fileprivate(set) var ids: [TaskID]?
    /// The number of requests that are not answered.
    fileprivate(set) var open = 0

    init(_ tasks: [(TaskSpec, Client.Known)], session: String?, by peer: Peer = Client.peer) {
        self.peer = peer
        specs = tasks.map(\.0)
        known = tasks.map(\.1)
        self.session = session
    }

    var hasTokens: Bool { specs.allSatisfy { $0.clientToken != nil } }
}

/// How clients add tasks: once, or with tokens until they get an answer.
extension Client {
    /// In nanoseconds. The daemon promises a day, but wall clocks jump.
    private static let tokensHold: Int64 = 12 * 3600 * 1_000_000_000

    func add(_ count: Int, _ daemon: SimulatedDaemon) {
        let hasTokens = world.random.chance(400)
        var tasks: [(TaskSpec, Known)] = []
        let session = world.random.chance(400) ? Self.sessions[world.random.below(Self.sessions.count)] : nil
        do {
            for _ in 0..<count {
                var (spec, known) = try newTask(asking: session != nil)
                if hasTokens { spec.clientToken = "token of \(made)" }
                known.session = session
                tasks.append((spec, known))
            }
        } catch {
            return world.violate("\(error)")
        }
        let isOther = session == nil && world.random.chance(250)
        let call = AddCall(tasks, session: session, by: isOther ? Self.other : Self.peer)
        ask(call, daemon)
        guard hasTokens else { return }
        calls.append(call)
        // Two programs of the client at the same time.
        if world.random.chance(200) { ask(call, daemon) }
    }

    /// Adds more downloads than there are slots, from slow servers if there are any.
    func fillSlots(_ daemon: SimulatedDaemon) {
        let slow = world.resources.filter { $0.slowness > 0 && !$0.isSecure }.map(\.number)
        guard !slow.isEmpty else { return }
        let tasks = (0..<(2 * SimulatedDaemon.mostRunning)).map { download("rush\($0)", from: slow[$0 % slow.count]) }
        ask(AddCall(tasks, session: nil), daemon)
    }

    /// Adds a download of the other owner, when all slots may be taken.
    func addLate(_ daemon: SimulatedDaemon) {
        let task = download("late", from: resource(asking: false))
        ask(AddCall([task], session: nil, by: Self.other), daemon)
    }

    /// Takes the resume data of a download, adds another download with it, and usually removes the first one.
    func handOver(_ daemon: SimulatedDaemon) {
        let ids = tasks.filter { $0.value.file != nil && !$0.value.isRemoved }.keys.sorted()
        guard !ids.isEmpty, made < Self.mostTasks else { return }
        made += 1
        let id = ids[world.random.below(ids.count)]
        let (connections, file) = (tasks[id]?.connections ?? 1, tasks[id]?.file ?? "")
        let number = begin(.cancel(keepPartial: true), id)
        world.note("resume data of \(id)")
        Task {
            do {
                var spec = TaskSpec()
                spec.resumeData = try await daemon.supervision.services.updater.resumeData(id, by: Self.peer)
                // A task that has failed stays failed.
                let state = try await daemon.supervision.services.reader.record(id, for: Self.peer).status.state
                end(id)
                if state != .failed { promise(.cancelled, id, number) }
                // Both downloads may run to their ends.
                for name in names(like: file) where !name.contains(" (") {
                    for place in 1...Self.mostTasks {
                        wanted["\(name) (\(place))", default: []].formUnion(wanted[name] ?? [])
                    }
                }
                spec.startPaused = world.random.chance(500)
                ask(AddCall([(spec, Known(connections: connections, file: file))], session: nil), daemon)
                if world.random.chance(500) { control(.remove(deleteFile: false), id, daemon) }
            } catch {
                end(id)
                let code = (error as? TransferError)?.code
                // The task has ended or is gone.
                if code != .taskWrongState, code != .taskNotFound { refused("resume data of \(id)", error) }
            }
        }
    }

    /// Repeats a request that was answered, as a client does that has lost the answer.
    func addAgain(_ daemon: SimulatedDaemon) {
        let unheard = calls.filter { $0.ids == nil }
        for call in unheard where !isFresh(call) && call.open == 0 { forget(call) }
        if let call = unheard.first(where: isFresh) { return ask(call, daemon) }
        let certain = calls.filter(isCertain)
        if !certain.isEmpty { ask(certain[world.random.below(certain.count)], daemon) }
    }

    private func isFresh(_ call: AddCall) -> Bool { sim_now() - call.begun < Self.tokensHold }

    /// Tells whether the tokens of a call still mean its tasks.
    private func isCertain(_ call: AddCall) -> Bool {
        guard let ids = call.ids, isFresh(call) else { return false }
        return ids.allSatisfy { tasks[$0]?.isRemoved == false }
    }

    private func ask(_ call: AddCall, _ daemon: SimulatedDaemon) {
        call.open += 1
        let opens = call.session != nil && world.random.chance(400)
        let session = opens ? nil : call.session.flatMap { sessions[$0] }
        world.note("add \(call.specs.count)\(call.ids == nil ? "" : " again")")
        Task {
            do {
                if opens, let session = call.session { try await open(session, daemon) }
                let added = try await daemon.supervision.services.adder.add(
                    call.specs, session: call.session, by: call.peer)
                call.open -= 1
                if !call.hasTokens, let session, session.isOver,
                    session.openings == sessions[call.session ?? ""]?.openings
                {
                    world.violate("session \"\(call.session ?? "")\", which was over, took tasks")
                }
                heard(call, added)
            } catch {
                call.open -= 1
                // A task that was added stays, whatever happens to its session.
                if !isCertain(call), let session = call.session, isEnded(session, error) {
                    if call.open == 0, call.ids == nil { forget(call) }
                    return
                }
                refused("add", error)
                if !call.hasTokens { settle(call) }
            }
        }
    }

    private func heard(_ call: AddCall, _ added: [AddedTask]) {
        let ids = added.map(\.id)
        world.note("added \(ids.map { "\($0)" }.joined(separator: " "))")
        if isCertain(call), call.ids != ids { world.violate("an add that was said again added \(ids)") }
        guard call.ids == nil else { return }
        call.ids = ids
        for (id, known) in zip(ids, call.known) { learn(id, known) }
        settle(call)
    }

    /// From the answer, or from giving up, the sources of the call no longer change.
    private func settle(_ call: AddCall) {
        for known in call.known { known.target.flatMap { world.server.targets[$0] }?.isAnswered = true }
    }

    private func forget(_ call: AddCall) {
        world.note("an add is given up")
        calls.removeAll { $0 === call }
        settle(call)
    }

    /// The daemon died. A client without an answer repeats its request if that adds nothing twice.
    func addsCrashed() {
        for call in calls where call.open > 0 {
            call.open = 0
            if call.ids == nil, world.random.chance(300) { forget(call) }
        }
    }
}
