import TransferModel

@testable import dld_fleet

/// A fleet under faults, in simulated time: the nodes' machines are the real ones, everything else is a model. A seed
/// decides everything.
final class FleetSimulation {
    /// The processes of one machine.
    final class Node {
        let name: String
        let dld = ModelDld()
        var machine: NodeMachine?
        /// Asking the machine itself would copy it.
        var isAlive = false
        /// Grows with each process and connection; what belongs to an older one is lost.
        var process = 0
        var database = 0
        var socket = 0
        var hasDatabase = false
        var hasSocket = false
        var socketSince = Duration.zero
        var isPartitioned = false
        var isOffline = false
        var isFull = false
        var tickAt: Duration?
        var nextCall = Duration.zero
        var nextEvent = Duration.zero

        init(_ name: String) { self.name = name }
    }

    private struct Entry {
        let time: Duration
        let order: Int
        let run: () -> Void
    }

    let settings: NodeSettings
    let database: ModelDatabase
    let nodes: [Node]
    let plant: Plant?
    private(set) var now = Duration.zero
    private var queue: [Entry] = []
    private var order = 0
    private var seed: UInt64
    private var databaseIsUp = true
    /// Faults end here; after that everything must end.
    private let calm = Duration.seconds(600)
    private var requests: Set<String> = []
    private(set) var violation: String?
    private(set) var story: [String] = []

    init(seed: UInt64, plant: Plant? = nil) {
        self.seed = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        self.plant = plant
        database = ModelDatabase(plant: plant)
        nodes = ["a", "b", "c"].map { Node($0) }
        var settings = NodeSettings()
        settings.capacity = 3
        settings.policy.hosts = ["good.test"]
        settings.drainLimit = .seconds(10)
        self.settings = settings
    }

    // MARK: Time

    func random() -> Double {
        seed &+= 0x9E37_79B9_7F4A_7C15
        var bits = (seed ^ (seed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((bits ^ (bits >> 31)) >> 11) / Double(1 << 53)
    }

    func seconds(_ least: Double, _ most: Double) -> Duration {
        .milliseconds(Int(1000 * (least + (most - least) * random())))
    }

    func chance(_ share: Double) -> Bool { random() < share }

    func at(_ time: Duration, _ run: @escaping () -> Void) {
        order += 1
        let entry = Entry(time: max(time, now), order: order, run: run)
        // The soonest is last.
        var (low, high) = (0, queue.count)
        while low < high {
            let middle = (low + high) / 2
            let isLater = (queue[middle].time, queue[middle].order) > (entry.time, entry.order)
            if isLater { low = middle + 1 } else { high = middle }
        }
        queue.insert(entry, at: low)
    }

    func after(_ delay: Duration, _ run: @escaping () -> Void) { at(now + delay, run) }

    func fail(_ text: String) { violation = violation ?? "\(now): \(text)" }

    func tell(_ text: @autoclosure () -> String) { if isVerbose { story.append("\(now) \(text())") } }
    var isVerbose = false

    /// - Returns: what went wrong, if anything.
    func run() -> String? {
        database.limits = ["limited": 2]
        for id in 1...Int64(14) {
            let host = id % 2 == 0 ? "limited" : "open"
            database.rows[id] = ModelDatabase.Row(id: id, host: host, maxAttempts: 6)
            database.rows[id]?.runAt = seconds(0, 400)
        }
        for node in nodes { start(node) }
        for _ in 0..<20 { at(seconds(5, 540)) { self.fault() } }
        at(calm) { self.heal() }
        let end = calm + .seconds(3600)
        while violation == nil, let entry = queue.popLast(), entry.time < end {
            now = entry.time
            entry.run()
            if now > calm + .seconds(5), isQuiet { break }
        }
        if violation == nil { checkEnd() }
        return violation
    }

    private var isQuiet: Bool {
        database.rows.values.allSatisfy(\.isFinal)
            && nodes.allSatisfy { $0.machine?.works.isEmpty == true && $0.dld.list.allSatisfy(\.state.isFinal) }
    }

    private func checkEnd() {
        for node in nodes {
            for (key, work) in node.machine?.works ?? [:] { fail("\(node.name) is stuck at \(key): \(work.stage)") }
        }
        for row in database.rows.values.sorted(by: { $0.id < $1.id }) {
            if row.ends != 1 { fail("job \(row.id) is \(row.state) and ended \(row.ends) times") }
            let files = nodes.filter { $0.dld.files[row.id] != nil }
            switch row.result {
            case let (name, epoch)?:
                if files.map(\.name) != [name] || files.first?.dld.files[row.id] != JobKey(row.id, epoch) {
                    fail("job \(row.id): the result is at \(name), epoch \(epoch), files at \(files.map(\.name))")
                }
            case nil: if !files.isEmpty { fail("job \(row.id) is \(row.state) and left a file at \(files[0].name)") }
            }
        }
    }

    // MARK: Faults

    private func fault() {
        let node = nodes[Int(random() * 3)]
        let pause = chance(0.3) ? seconds(60, 200) : seconds(1, 30)
        let id = Int64(1 + random() * 14)
        switch Int(random() * 13) {
        case 0: restart(node, after: pause)
        case 1: restartDld(node, after: pause)
        case 2:
            restart(node, after: pause)
            restartDld(node, after: seconds(1, 100))
        case 3:
            tell("database down for \(pause)")
            databaseIsUp = false
            after(pause) { self.databaseIsUp = true }
            for node in nodes { after(seconds(0, 10)) { self.dropDatabase(node) } }
        case 4, 5:
            tell("\(node.name) partitioned for \(pause)")
            node.isPartitioned = true
            after(pause) { node.isPartitioned = false }
            after(seconds(0, 10)) { self.dropDatabase(node) }
        case 6:
            tell("cancel \(id)")
            database.cancel(id)
            for node in nodes { input(.notified(.control), node) }
        case 7:
            node.isOffline = true
            after(pause) { node.isOffline = false }
        case 8:
            node.isFull = true
            after(pause) { node.isFull = false }
        case 9:
            database.draining.insert(node.name)
            input(.notified(.control), node)
            after(pause) {
                self.database.draining.remove(node.name)
                self.input(.notified(.control), node)
            }
        case 10: interfere(node)
        case 11: database.retry(id)
        default:
            input(.terminate, node)
            if chance(0.3) { after(seconds(0, 5)) { self.input(.terminate, node) } }
        }
    }

    /// Somebody cancels or pauses a local task.
    private func interfere(_ node: Node) {
        guard node.dld.isUp, let task = node.dld.list.first(where: { !$0.state.isFinal }) else { return }
        change(node, task.id, chance(0.5) ? .cancelled : .paused)
    }

    private func heal() {
        databaseIsUp = true
        database.draining = []
        for node in nodes {
            (node.isPartitioned, node.isOffline, node.isFull) = (false, false, false)
            if !node.dld.isUp { startDld(node) }
            if !node.isAlive { start(node) }
            input(.notified(.control), node)
        }
    }

    // MARK: Processes

    func start(_ node: Node) {
        guard !node.isAlive else { return }
        var settings = settings
        settings.name = node.name
        tell("\(node.name) starts")
        node.machine = NodeMachine(settings: settings, at: now)
        node.isAlive = true
        node.process += 1
        node.tickAt = nil
        connectDatabase(node)
        connectSocket(node)
    }

    private func restart(_ node: Node, after pause: Duration) {
        stop(node)
        after(pause) { self.start(node) }
    }

    func stop(_ node: Node) {
        tell("\(node.name) stops")
        node.machine = nil
        node.isAlive = false
        node.process += 1
        node.database += 1
        node.socket += 1
        (node.hasDatabase, node.hasSocket) = (false, false)
    }

    private func restartDld(_ node: Node, after pause: Duration) {
        guard node.dld.isUp else { return }
        tell("dld of \(node.name) stops")
        node.dld.isUp = false
        requests = requests.filter { !$0.hasPrefix("\(node.name)/") }
        after(seconds(0, 0.5)) { self.dropSocket(node) }
        after(pause) { self.startDld(node) }
    }

    private func startDld(_ node: Node) {
        guard !node.dld.isUp else { return }
        tell("dld of \(node.name) starts")
        node.dld.isUp = true
        for task in node.dld.list where !task.state.isFinal && task.state != .paused { change(node, task.id, .queued) }
    }

    func dropDatabase(_ node: Node) {
        guard node.hasDatabase else { return }
        (node.hasDatabase, node.database) = (false, node.database + 1)
        input(.databaseWent, node)
        connectDatabase(node)
    }

    func dropSocket(_ node: Node) {
        guard node.hasSocket else { return }
        (node.hasSocket, node.socket) = (false, node.socket + 1)
        input(.dldWent, node)
        connectSocket(node)
    }

    func reaches(_ node: Node) -> Bool { databaseIsUp && !node.isPartitioned }

    private func connectDatabase(_ node: Node) {
        let process = node.process
        after(seconds(0.2, 5)) {
            guard node.process == process, !node.hasDatabase else { return }
            guard self.reaches(node) else { return self.connectDatabase(node) }
            node.hasDatabase = true
            self.input(.databaseCame, node)
        }
    }

    private func connectSocket(_ node: Node) {
        let process = node.process
        after(seconds(0.2, 5)) {
            guard node.process == process, !node.hasSocket else { return }
            guard node.dld.isUp else { return self.connectSocket(node) }
            (node.hasSocket, node.socketSince) = (true, self.now)
            let missed = node.dld.log.dropFirst(Int(node.dld.acknowledged))
            self.input(.dldCame(node.dld.list), node)
            for event in missed { self.deliver(event, node) }
        }
    }

    private func deliver(_ event: TaskEvent, _ node: Node) {
        let socket = node.socket
        node.nextEvent = max(node.nextEvent, now + seconds(0.001, 0.03))
        at(node.nextEvent) {
            guard node.socket == socket, node.hasSocket else { return }
            self.input(.event(event), node)
            if self.plant == .earlyAcknowledgement, let number = event.sequence { self.acknowledge(number, node) }
        }
    }

    func acknowledge(_ number: Int64, _ node: Node) {
        for event in node.dld.log.prefix(Int(number)).dropFirst(Int(node.dld.acknowledged)) {
            if let key = event.key, database.holds(node.name, key, isGuarded: true) {
                fail("\(node.name) acknowledged the end of \(key) before its commit")
            }
        }
        node.dld.acknowledged = max(node.dld.acknowledged, number)
    }

    func input(_ input: Input, _ node: Node) {
        guard node.isAlive, violation == nil else { return }
        tell("\(node.name) < \(input)")
        for effect in node.machine?.handle(input, at: now, random: random()) ?? [] {
            tell("\(node.name) > \(effect)")
            perform(effect, node)
        }
        wake(node)
    }

    private func wake(_ node: Node) {
        guard let moment = node.machine?.wakesAt else { return }
        guard moment > now else { return fail("\(node.name) wants to wake in the past") }
        if let planned = node.tickAt, planned > now, planned <= moment { return }
        let process = node.process
        node.tickAt = moment
        at(moment) {
            guard node.process == process, node.tickAt == moment else { return }
            node.tickAt = nil
            self.input(.tick, node)
        }
    }

    // MARK: Tasks

    /// A task of dld changes its state, which ends or begins its request.
    func change(_ node: Node, _ id: TaskID, _ state: TaskState, _ wait: Wait? = nil) {
        guard var task = node.dld.tasks[id], !task.state.isFinal else { return }
        (task.state, task.wait) = (state, wait)
        task.turn += 1
        node.dld.tasks[id] = task
        if state == .completed { node.dld.files[task.key.id] = task.key }
        let request = "\(node.name)/\(id)"
        if state == .running { begin(request, task.host) } else { requests.remove(request) }
        let event = node.dld.record(id, .state(state, wait))
        if node.hasSocket { deliver(event, node) }
        let turn = task.turn
        let plan = { (delay: Duration, next: @escaping () -> Void) in
            self.after(delay) {
                if node.dld.isUp, node.dld.tasks[id]?.turn == turn { next() }
            }
        }
        switch state {
        case .queued: plan(seconds(0.01, 0.3)) { self.change(node, id, .running) }
        case .running:
            let isLong = task.host == "limited"
            plan(isLong ? seconds(20, 160) : seconds(0.2, 40)) { self.proceed(node, id) }
        case .waiting:
            plan(seconds(10, 40)) {
                node.dld.tasks[id]?.isAnswered = true
                self.change(node, id, .queued)
            }
        case .paused, .completed, .failed, .cancelled: break
        }
    }

    private func begin(_ request: String, _ host: String) {
        requests.insert(request)
        guard let limit = database.limits[host] else { return }
        var counted = 0
        for node in nodes {
            let running = node.dld.tasks.values.count {
                $0.host == host && requests.contains("\(node.name)/\($0.id)")
            }
            // The contract allows more while a dld runs without its dld-fleet.
            if running > 0, !node.isAlive || !node.hasSocket || now < node.socketSince + .seconds(2) { return }
            counted += running
        }
        if counted > limit { fail("\(host) sees \(counted) requests, and may see \(limit)") }
    }

    /// What comes of a running task.
    private func proceed(_ node: Node, _ id: TaskID) {
        guard let task = node.dld.tasks[id] else { return }
        let lost = JobError("network.connect", "", retryable: true)
        if node.isOffline { return change(node, id, .waiting, Wait(reason: "network", error: lost)) }
        if node.isFull { return change(node, id, .waiting, Wait(reason: "disk")) }
        if task.key.id % 5 == 0, !task.isAnswered {
            let url = task.key.id % 10 == 0 ? "https://evil.test/" : "https://good.test/"
            change(node, id, .waiting, Wait(reason: "decision"))
            let event = node.dld.record(id, .redirect(decision: id.rawValue, url: url))
            if node.hasSocket { deliver(event, node) }
            return
        }
        if task.key.id % 7 == 0 || chance(0.1) {
            node.dld.tasks[id]?.error = JobError("http.status", "", retryable: task.key.id % 7 != 0)
            return change(node, id, .failed)
        }
        change(node, id, .completed)
    }
}
