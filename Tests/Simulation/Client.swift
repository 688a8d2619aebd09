import DaemonKit
import TransferModel

/// The clients of a simulated daemon, and what it told them: the other side of the promises.
final class Client: @unchecked Sendable {
    /// A task as its client knows it.
    struct Known {
        var connections: Int
        /// The name that a download should get.
        var file: String?
        /// The resource that a data task requests, if any.
        var resource: Int?
        /// Nil means the shared session.
        var session: String?
        /// The name of the target that an upload or a data task sends to.
        var target: String?
        /// Requests that may change the task: `open` counts those without an answer, `asked` all of them. If two run at
        /// the same time, either may be the last.
        var open = 0
        var asked = 0
        var isRemoved = false
        /// The acknowledged state of the task, as long as no client asks for another one.
        var promised: TaskState?
    }

    unowned let world: World
    private(set) var tasks: [TaskID: Known] = [:] { didSet { changes += 1 } }
    var sessions: [String: KnownSession] = [:] { didSet { changes += 1 } }
    /// The calls that add tasks with tokens, in order.
    var calls: [AddCall] = []
    /// How often the clients' knowledge of tasks changed.
    private(set) var changes = 0
    /// The resources that a file may come from, by the wanted name.
    var wanted: [String: Set<Int>] = [:]
    /// Stands for the empty body of a refusal, which a task may accept as its answer.
    static let refusal = -1
    /// The acknowledged answers to questions.
    var answers: [DecisionID: DecisionAction] = [:]
    /// The files that are sent.
    var sources: [Source] = []
    var made = 0

    init(_ world: World) { self.world = world }

    static let user = UserID(1000)
    static let peer = Peer(uid: user, gid: 1000, pid: 1, isAdmin: true)
    /// Adds some tasks too, but in no session of its own, and does not subscribe.
    static let other = Peer(uid: UserID(1001), gid: 1001, pid: 2, isAdmin: true)
    static let mostTasks = 24
    static let mostConnections = 3

    /// Tells whether the task was stopped and the stop was acknowledged.
    func wantsQuiet(_ task: TaskID) -> Bool {
        switch tasks[task]?.promised {
        case .paused?, .cancelled?: true
        case nil, .queued?, .running?, .waiting?, .completed?, .failed?: false
        }
    }

    /// The daemon died. Requests that it did not answer are not processed any more.
    func crashed() {
        for id in tasks.keys { tasks[id]?.open = 0 }
        sessionsCrashed()
        addsCrashed()
        // Tasks that were not added by now are never added, unless the client repeats the request.
        let awaited = Set(calls.filter { $0.ids == nil }.flatMap(\.known).compactMap(\.target))
        for (name, target) in world.server.targets where !awaited.contains(name) { target.isAnswered = true }
    }

    /// The file of the task may have this name from now on.
    func mayBeNamed(_ name: String, _ id: TaskID) { tasks[id]?.file = name }

    /// A task was acknowledged.
    func learn(_ id: TaskID, _ known: Known) { tasks[id] = known }

    /// A client sends a request that may change the task, so its acknowledged state no longer holds.
    /// - Returns: The number of the request, or nil if another one is on its way.
    @discardableResult
    func begin(_ action: TaskAction, _ id: TaskID) -> Int? {
        guard let known = tasks[id] else { return nil }
        let isAlone = known.open == 0 && (known.session.flatMap { sessions[$0]?.open } ?? 0) == 0
        tasks[id]?.open += 1
        tasks[id]?.asked += 1
        tasks[id]?.promised = nil
        noteRenewal(action, id)
        return isAlone ? known.asked + 1 : nil
    }

    func end(_ id: TaskID) { tasks[id]?.open -= 1 }

    /// A request was acknowledged. The task has this state unless a client has sent another request since.
    /// - Returns: Whether the state is certain.
    @discardableResult
    func promise(_ state: TaskState, _ id: TaskID, _ number: Int?) -> Bool {
        guard number == tasks[id]?.asked else { return false }
        tasks[id]?.promised = state
        return true
    }

    /// Performs a random action of a client.
    func act() {
        guard let daemon = world.daemon else { return }
        if world.random.chance(80) { return addAgain(daemon) }
        let kind = world.random.below(10)
        if made < Self.mostTasks, kind < 4 || tasks.isEmpty { return add(1 + world.random.below(3), daemon) }
        guard world.hazards.contains(.client) else { return }
        if world.random.chance(world.odds.sessionEnd) { return endSession(daemon) }
        if world.random.chance(world.odds.sessionPause) { return pauseSession(daemon) }
        if world.random.chance(world.odds.resumeData) { return handOver(daemon) }
        if world.random.chance(world.odds.update) { return update(daemon) }
        if world.random.chance(world.odds.answer) { return answer(daemon) }
        let ids = tasks.keys.sorted()
        guard !ids.isEmpty else { return }
        let id = ids[world.random.below(ids.count)]
        switch kind {
        case 0..<6: control(.pause, id, daemon)
        case 6: control(.resume, id, daemon)
        case 7: control(.cancel(keepPartial: world.random.chance(500)), id, daemon)
        case 8: control(.retry, id, daemon)
        default: control(.remove(deleteFile: false), id, daemon)
        }
    }

    /// Resumes everything that was stopped, whatever happened to the request to stop it, after the running requests
    /// have ended.
    func resumeAll() {
        guard let daemon = world.daemon else { return }
        Task {
            while true {
                do {
                    while tasks.values.contains(where: { $0.open > 0 }) { try await Task.sleep(for: .seconds(1)) }
                    for id in tasks.keys { tasks[id]?.promised = nil }
                    try await resumeSessions(daemon)
                    _ = try await daemon.supervision.services.controller.control(
                        .resume, ControlTarget(scope: .all, owner: .everyone))
                    return
                } catch {
                    refused("resume of all", error)
                }
                try await Task.sleep(for: .seconds(10))
            }
        }
    }

    func control(_ action: TaskAction, _ id: TaskID, _ daemon: SimulatedDaemon) {
        guard tasks[id]?.isRemoved == false else { return }
        // Its token may be on its way again, and would add another task.
        if case .remove = action, calls.contains(where: { $0.open > 0 && $0.ids?.contains(id) == true }) { return }
        if case .remove = action { tasks[id]?.isRemoved = true }
        let number = begin(action, id)
        world.note("\(action) \(id)")
        Task {
            do {
                let target = ControlTarget(scope: .ids([id]), owner: .everyone)
                let outcome = try await daemon.supervision.services.controller.control(action, target)
                end(id)
                guard outcome.changed == [id] else { return }
                switch action {
                case .pause: promise(.paused, id, number)
                case .cancel: if promise(.cancelled, id, number) { gaveUp(id) }
                case .resume, .retry, .resend, .remove: break
                }
                world.note("\(action) \(id) done")
            } catch {
                end(id)
                refused("\(action) of \(id)", error)
            }
        }
    }

    /// Only a failed disk excuses a refusal, or a machine so busy that a run cannot stop in time. What happened to the
    /// request is then unknown.
    func refused(_ what: String, _ error: any Error) {
        world.note("\(what) is refused: \(error)")
        let isLate = world.isBusy && (error as? TransferError)?.message.contains(" cannot stop: ") == true
        if !world.hasDiskTrouble, !isLate { world.violate("\(what) is refused: \(error)") }
    }
}
