import DaemonKit
import TransferModel

/// Clients of a simulated daemon, and what they were told: the other side of the promises.
final class Client: @unchecked Sendable {
    /// A task as its client knows it.
    struct Known {
        var connections: Int
        /// The name that a download is to have.
        var file: String?
        /// What a data task asks for, if that is a resource.
        var resource: Int?
        /// nil = shared.
        var session: String?
        /// Where an upload or a data task sends to, by name.
        var target: String?
        /// Requests that may change it: those that are not answered, and all. Of two at once either may be the last.
        var open = 0
        var asked = 0
        var isRemoved = false
        /// State that the task was acknowledged to have, for as long as nobody asks for another.
        var promised: TaskState?
    }

    unowned let world: World
    private(set) var tasks: [TaskID: Known] = [:] { didSet { changes += 1 } }
    var sessions: [String: KnownSession] = [:] { didSet { changes += 1 } }
    /// Adds with tokens, in order.
    var calls: [AddCall] = []
    /// How often what clients know of tasks changed.
    private(set) var changes = 0
    /// By name of the wanted file: resources that it may be of.
    var wanted: [String: Set<Int>] = [:]
    /// Stands among them for the empty body of a refusal, which a task may take for its answer.
    static let refusal = -1
    /// What was acknowledged to be the answer to a question.
    var answers: [DecisionID: DecisionAction] = [:]
    /// Of files that are sent.
    var sources: [Source] = []
    var made = 0

    init(_ world: World) { self.world = world }

    static let user = UserID(1000)
    static let peer = Peer(uid: user, gid: 1000, pid: 1, isAdmin: true)
    /// Adds some tasks too, in no session of its own; nobody subscribes for it.
    static let other = Peer(uid: UserID(1001), gid: 1001, pid: 2, isAdmin: true)
    static let mostTasks = 24
    static let mostConnections = 3

    /// Whether the task was stopped, and its client told so.
    func wantsQuiet(_ task: TaskID) -> Bool {
        switch tasks[task]?.promised {
        case .paused?, .cancelled?: true
        case nil, .queued?, .running?, .waiting?, .completed?, .failed?: false
        }
    }

    /// The daemon died: what it had not answered is not done any more.
    func crashed() {
        for id in tasks.keys { tasks[id]?.open = 0 }
        sessionsCrashed()
        addsCrashed()
        // What was not added by now never will be, unless it is said again.
        let awaited = Set(calls.filter { $0.ids == nil }.flatMap(\.known).compactMap(\.target))
        for (name, target) in world.server.targets where !awaited.contains(name) { target.isAnswered = true }
    }

    /// Its file may have this name from now on.
    func mayBeNamed(_ name: String, _ id: TaskID) { tasks[id]?.file = name }

    /// A task was acknowledged.
    func learn(_ id: TaskID, _ known: Known) { tasks[id] = known }

    /// A client asks for something that may change the task: what it is promised to be from now on is not known.
    /// - Returns: the request's number; nil if another is on its way.
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

    /// A request was acknowledged: the task is so, unless somebody has asked for anything since.
    /// - Returns: whether that is certain.
    @discardableResult
    func promise(_ state: TaskState, _ id: TaskID, _ number: Int?) -> Bool {
        guard number == tasks[id]?.asked else { return false }
        tasks[id]?.promised = state
        return true
    }

    /// Does something that clients do.
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

    /// Lets everything go on that was stopped, whatever became of the request to stop it, once those under way are over.
    func resumeAll() {
        guard let daemon = world.daemon else { return }
        Task {
            while true {
                do {
                    while tasks.values.contains(where: { $0.open > 0 }) { try await Task.sleep(for: .seconds(1)) }
                    for id in tasks.keys { tasks[id]?.promised = nil }
                    try await resumeSessions(daemon)
                    _ = try await daemon.supervision.controller.control(
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
        // Its token may be on its way again, and would add another.
        if case .remove = action, calls.contains(where: { $0.open > 0 && $0.ids?.contains(id) == true }) { return }
        if case .remove = action { tasks[id]?.isRemoved = true }
        let number = begin(action, id)
        world.note("\(action) \(id)")
        Task {
            do {
                let target = ControlTarget(scope: .ids([id]), owner: .everyone)
                let outcome = try await daemon.supervision.controller.control(action, target)
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

    /// Only a disk that failed is an excuse. What became of the request is then anybody's guess.
    func refused(_ what: String, _ error: any Error) {
        world.note("\(what) is refused: \(error)")
        if !world.hasDiskTrouble { world.violate("\(what) is refused: \(error)") }
    }
}
