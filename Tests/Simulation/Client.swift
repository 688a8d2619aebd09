import DaemonKit
import TransferModel

/// Clients of a simulated daemon, and what they were told: the other side of the promises.
final class Client: @unchecked Sendable {
    /// A task as its client knows it.
    struct Known {
        var connections: Int
        /// Where an upload or a data task sends to, by name.
        var target: String?
        /// Controls that were asked for and not answered: of two at once either may be the last.
        var open = 0
        var isRemoved = false
        /// State that the task was acknowledged to have, for as long as nobody asks for another.
        var promised: TaskState?
    }

    unowned let world: World
    private(set) var tasks: [TaskID: Known] = [:] { didSet { changes += 1 } }
    /// How often what clients know of tasks changed.
    private(set) var changes = 0
    /// By name of the wanted file.
    var wanted: [String: Int] = [:]
    /// Of files that are sent.
    var sources: [Source] = []
    var made = 0

    init(_ world: World) { self.world = world }

    static let user = UserID(1000)
    /// Besides the one that is always there.
    static let session = "apart"
    private static let peer = Peer(uid: user, gid: 1000, pid: 1, isAdmin: true)
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
        // What was not added by now never will be.
        for target in world.server.targets.values { target.isAnswered = true }
    }

    /// Does something that clients do.
    func act() {
        guard let daemon = world.daemon else { return }
        let kind = world.random.below(10)
        if made < Self.mostTasks, kind < 4 || tasks.isEmpty { return add(1 + world.random.below(3), daemon) }
        guard world.hazards.contains(.client) else { return }
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
                    _ = try await daemon.supervisor.control(.resume, ControlTarget(scope: .all, owner: .everyone))
                    return
                } catch {
                    refused("resume of all", error)
                }
                try await Task.sleep(for: .seconds(10))
            }
        }
    }

    private func add(_ count: Int, _ daemon: SimulatedDaemon) {
        let specs: [(TaskSpec, Known)]
        do {
            specs = try (0..<count).map { _ in try newTask() }
        } catch {
            return world.violate("\(error)")
        }
        let session = world.random.chance(300) ? Self.session : nil
        world.note("add \(count)")
        Task {
            do {
                if let session {
                    let key = SessionKey(owner: Self.user, identifier: session)
                    _ = try await daemon.supervisor.open(key, configuration: nil, by: Self.peer)
                }
                let added = try await daemon.supervisor.add(specs.map(\.0), session: session, by: Self.peer)
                for (task, (_, known)) in zip(added, specs) {
                    tasks[task.id] = known
                    known.target.flatMap { world.server.targets[$0] }?.isAnswered = true
                }
                world.note("added \(added.map { "\($0.id)" }.joined(separator: " "))")
            } catch {
                refused("add", error)
            }
        }
    }

    private func control(_ action: TaskAction, _ id: TaskID, _ daemon: SimulatedDaemon) {
        guard tasks[id]?.isRemoved == false else { return }
        tasks[id]?.open += 1
        tasks[id]?.promised = nil
        if case .remove = action { tasks[id]?.isRemoved = true }
        noteRenewal(action, id)
        world.note("\(action) \(id)")
        Task {
            do {
                let target = ControlTarget(scope: .ids([id]), owner: .everyone)
                let outcome = try await daemon.supervisor.control(action, target)
                tasks[id]?.open -= 1
                guard outcome.changed == [id], tasks[id]?.open == 0 else { return }
                switch action {
                case .pause: tasks[id]?.promised = .paused
                case .cancel:
                    tasks[id]?.promised = .cancelled
                    gaveUp(id)
                case .resume, .retry, .remove: break
                }
                world.note("\(action) \(id) done")
            } catch {
                tasks[id]?.open -= 1
                refused("\(action) of \(id)", error)
            }
        }
    }

    /// Only a disk that failed is an excuse. What became of the request is then anybody's guess.
    private func refused(_ what: String, _ error: any Error) {
        world.note("\(what) is refused: \(error)")
        if !world.hasDiskTrouble { world.violate("\(what) is refused: \(error)") }
    }
}
