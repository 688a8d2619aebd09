import CSimulation
import DaemonKit
import TransferModel
import TransferRPC

/// A client with one volatile session, what it asked for and what it was told.
final class VolatileClient: @unchecked Sendable {
    /// A task as its client knows it.
    struct Known {
        var resource: Int
        /// The name of a download.
        var file: String?
        var isStream = false
        var begun: Timestamp
        /// Requests on their way that may change the task.
        var open = 0
        /// The stop was acknowledged.
        var isStopped = false
        /// The bytes that were requested, and the bytes that came.
        var credit: Int64 = 0
        var received: Int64 = 0
        /// The versions that may contain all received bytes. Nil before any byte came.
        var versions: Set<Int>?
    }

    private unowned let world: World
    let number: Int
    let session: String
    let kind: SessionKind
    private(set) var tasks: [TaskID: Known] = [:]
    private(set) var isOpen = false
    private(set) var isGone = false
    private var isBusy = false
    /// The acknowledged answers to questions.
    private var answers: [DecisionID: DecisionAction] = [:]
    private lazy var connection = VolatileConnection(Self.firstConnection + number, self)

    /// Higher than the connection ids of subscribers.
    private static let firstConnection = 1_000_000
    static let mostTasks = 10
    /// A text in every ephemeral task that must be in no file of the daemon.
    static let marker = "Zq9ephemeral9qZ"

    init(_ world: World, _ number: Int) {
        self.world = world
        self.number = number
        // Some come back with a name whose session may still be ending.
        session = "v\(world.random.chance(300) ? number % 3 : number)"
        kind = world.random.chance(500) ? .default : .ephemeral
    }

    var key: SessionKey { Client.key(session) }

    func wrong(_ what: String) { world.violate("client \(number) of \"\(session)\" is sent \(what)") }

    // MARK: What it is told

    func took(_ task: TaskID, _ offset: Int64, _ bytes: [UInt8]) {
        guard var known = tasks[task], known.isStream else { return wrong("a piece of task \(task)") }
        defer { tasks[task] = known }
        guard offset == known.received else {
            return wrong("bytes of task \(task) from \(offset) on, and has \(known.received)")
        }
        known.received += Int64(bytes.count)
        if known.received > known.credit {
            wrong("\(known.received) bytes of task \(task), and gave credit for \(known.credit)")
        }
        let resource = world.resources[known.resource]
        known.versions = (known.versions ?? Set(resource.versions)).filter { version in
            let content = resource.content(version)
            guard content.count >= known.received else { return false }
            return content[Int(offset)..<Int(known.received)].elementsEqual(bytes)
        }
        if known.versions?.isEmpty == true { wrong("bytes of task \(task) that are of no version") }
    }

    /// Checks that the client got all bytes of one version.
    func checkStream(_ task: TaskID) {
        guard let known = tasks[task], known.isStream else { return }
        let resource = world.resources[known.resource]
        let versions = known.versions ?? Set(resource.versions)
        if !versions.contains(where: { resource.content($0).count == known.received }) {
            world.violate("stream \(task) is completed after \(known.received) bytes, which are no version")
        }
    }

    // MARK: What it does

    /// Opens the session. Another one with the same name may still be ending.
    func open(_ daemon: SimulatedDaemon) {
        isBusy = true
        var configuration = SessionConfiguration()
        configuration.asks = DecisionKind.allCases.filter { _ in world.random.chance(250) }
        world.note("client \(number) opens \(session), \(kind.rawValue)")
        Task { [configuration] in
            defer { isBusy = false }
            do {
                let opened = try await daemon.volatileSessions.open(
                    key, kind, configuration, by: Client.peer, on: connection)
                isOpen = !isGone
                world.tls.forget(key)
                if opened.kind != kind { world.violate("session \"\(session)\" is opened as another kind") }
            } catch let error as TransferError where error.code == .sessionInUse {
                isGone = true
            } catch {
                if !isGone { world.client.refused("opening \(session)", error) }
            }
        }
    }

    func act(_ daemon: SimulatedDaemon) {
        guard isOpen, !isGone else { return }
        switch world.random.below(12) {
        case 0..<3 where tasks.count < Self.mostTasks: add(daemon)
        case 3..<6: giveCredit(daemon)
        case 6..<8: answer(daemon)
        case 8..<9: connection.read()
        case 9: control(daemon)
        case 10 where world.random.chance(150): leave(daemon)
        default: break
        }
    }

    /// Lets everything come to its end.
    /// - Parameter paused: The client's tasks that must be resumed.
    func finish(_ daemon: SimulatedDaemon, paused: [TaskID]) {
        connection.read()
        for (id, known) in tasks where known.isStream { give(.max, to: id, daemon) }
        for id in paused where tasks[id]?.open == 0 { control(.resume, id, daemon) }
        answer(daemon)
    }

    /// The connection is closed, and the session ends with it.
    func leave(_ daemon: SimulatedDaemon?) {
        guard !isGone else { return }
        world.note("client \(number) of \(session) goes")
        isGone = true
        connection.close()
        // As in the daemon: once for each connection, and after its last request has begun.
        if let daemon, world.plant != .linger { daemon.volatileSessions.closed(connection.id) }
    }

    private func add(_ daemon: SimulatedDaemon) {
        guard !isBusy else { return }
        isBusy = true
        let which = world.random.below(3)
        // Few resources, so that the answer to one task is stored for the next.
        let resource = world.random.below(which == 1 ? 2 : world.resources.count)
        var known = Known(resource: resource, begun: world.now)
        var spec = TaskSpec()
        spec.url = world.resources[resource].url
        switch which {
        case 0:
            let name = world.volatiles.newName()
            world.client.wanted[name] = [resource]
            // A file of another session may already have the name.
            for place in 1...9 { world.client.wanted["\(name) (\(place))"] = [resource] }
            spec.destination = Destination(path: world.folder + "/out/" + name)
            known.file = name
        case 1: spec.kind = .data
        default:
            spec.kind = .data
            spec.stream = true
            known.isStream = true
        }
        if kind == .ephemeral { spec.tags = [Self.marker] }
        if world.random.chance(100) {
            spec.earliestBeginAt = world.now.advanced(by: Seconds(Double(world.random.below(200))))
        }
        world.machine.restrict(&spec)
        Task { [spec, known] in
            defer { isBusy = false }
            do {
                let added = try await daemon.volatileSessions.services.adder.add(
                    [spec], session: session, by: Client.peer)
                for task in added {
                    if !task.id.isVolatile { world.violate("task \(task.id) of a volatile session is durable") }
                    tasks[task.id] = known
                    world.volatiles.learn(task.id, self)
                }
                world.note("client \(number) added \(added.map(\.id)) of resource \(known.resource)")
            } catch {
                if !isGone { world.client.refused("a volatile task", error) }
            }
        }
    }

    private func giveCredit(_ daemon: SimulatedDaemon) {
        let streams = tasks.filter { $0.value.isStream }.keys.sorted()
        guard !streams.isEmpty else { return }
        let id = streams[world.random.below(streams.count)]
        give(Int64(1 + world.random.below([10, 5000, 300_000][world.random.below(3)])), to: id, daemon)
    }

    private func give(_ bytes: Int64, to id: TaskID, _ daemon: SimulatedDaemon) {
        var spec = TaskSpec()
        (spec.kind, spec.stream) = (.data, true)
        guard let stream = daemon.volatileSessions.streams.stream(of: id, spec, in: key) else { return }
        let sum = (tasks[id]?.credit ?? 0).addingReportingOverflow(bytes)
        tasks[id]?.credit = sum.overflow ? .max : sum.partialValue
        stream.give(ByteCount(world.plant == .gush && bytes < .max / 2 ? 2 * bytes : bytes))
    }

    private func control(_ daemon: SimulatedDaemon) {
        let ids = tasks.filter { $0.value.open == 0 }.keys.sorted()
        guard !ids.isEmpty else { return }
        let id = ids[world.random.below(ids.count)]
        let actions: [TaskAction] = [.pause, .resume, .cancel(keepPartial: false)]
        control(actions[world.random.below(3)], id, daemon)
    }

    private func control(_ action: TaskAction, _ id: TaskID, _ daemon: SimulatedDaemon) {
        tasks[id]?.open += 1
        tasks[id]?.isStopped = false
        world.note("client \(number): \(action) \(id)")
        Task {
            do {
                let target = ControlTarget(scope: .ids([id]), owner: .everyone)
                let outcome = try await daemon.volatileSessions.services.controller.control(action, target)
                tasks[id]?.open -= 1
                if case .resume = action { return }
                if outcome.changed == [id] { tasks[id]?.isStopped = true }
            } catch {
                tasks[id]?.open -= 1
                if !isGone { world.client.refused("\(action) of volatile task \(id)", error) }
            }
        }
    }

    private func answer(_ daemon: SimulatedDaemon) {
        let dies = !world.isCalm && world.random.chance(30)
        Task {
            do {
                let decisions = daemon.volatileSessions.services.decisions
                let open = try await decisions.list(
                    owner: Client.user, sessions: [session], tasks: nil, for: Client.peer
                ).decisions.filter { tasks[$0.task] != nil }
                guard !open.isEmpty else { return }
                let asked = open[world.random.below(open.count)]
                if world.random.chance(200) { try await Task.sleep(for: .seconds(world.random.below(100))) }
                let actions = asked.question.actions.filter {
                    switch $0 {
                    case .becomeDownload, .cancel, .followWith, .newRequest, .useCredential: false
                    default: true
                    }
                }
                let action = actions[world.random.below(actions.count)]
                world.note("client \(number) answers \(asked.decision) of \(asked.task): \(action.rawValue)")
                // The client may leave before its answer is stored.
                if dies { leave(daemon) }
                for answer in [action, action, actions[world.random.below(actions.count)]] {
                    do {
                        var parameters = AnswerDecision(id: asked.decision, action: answer)
                        if answer == .trust { parameters.persistence = Client.persistence(of: asked.decision) }
                        world.tls.grant(asked, parameters, in: key, isEphemeral: kind == .ephemeral)
                        _ = try await decisions.answer(parameters, by: Client.peer)
                        if kind == .default { world.tls.acknowledged(asked, parameters) }
                        if answers[asked.decision, default: answer] != answer {
                            world.violate("question \(asked.decision) took two answers")
                        }
                        answers[asked.decision] = answer
                    } catch let error as TransferError where error.code == .decisionGone {}
                }
            } catch {
                if !isGone { world.client.refused("an answer of client \(number)", error) }
            }
        }
    }
}
