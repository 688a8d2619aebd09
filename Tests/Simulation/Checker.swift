import DaemonKit
import FileKit
import Glibc
import TransferModel
import TransferStore

/// Checks a world from outside and reports the promise that is broken.
final class Checker: @unchecked Sendable {
    private unowned let world: World
    /// Delivered files that were found correct, by path in the world's folder.
    private var proven: [String: UInt64] = [:]

    /// The state at a check. If it changes, a new check is due.
    private struct Sight: Equatable {
        var event: SequenceNumber
        var changes: Int
        /// When the destination folders last got or lost a name.
        var named: [Int]
    }

    private var seen: Sight?
    private let uploads: UploadChecker

    init(_ world: World) {
        self.world = world
        uploads = UploadChecker(world)
    }

    /// Called for each commit.
    func committed(_ events: [EventRecord]) {
        for event in events {
            world.note("\(event.type.rawValue) \(event.task.map { "\($0)" } ?? "")")
            if event.task?.isVolatile == true || event.session.identifier.first == "v" {
                world.violate("event \(event.type.rawValue) of a volatile session is stored")
            }
        }
        do {
            try world.ledger.commit(events)
        } catch {
            world.violate("\(error)")
        }
    }

    /// Whether there was a commit, an answer to a client, or a new name in the destination folders since the last
    /// check.
    var isDue: Bool { seen != sight() }

    private func sight() -> Sight {
        let named = World.destinations.flatMap { place in
            var status = stat()
            stat(world.folder + place, &status)
            return [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        }
        return Sight(event: world.ledger.head, changes: world.client.changes, named: named)
    }

    /// Checks everything that must hold at any moment.
    func check() throws {
        seen = sight()
        try world.read(checkStore)
        try checkFiles()
    }

    private func checkStore(_ snapshot: StoreSnapshot) throws {
        let ids = world.client.tasks.keys.sorted()
        let (head, tasks) = (try snapshot.eventHead(), try snapshot.heads(ids))
        let lastEvent = world.ledger.head
        if head != lastEvent { throw Violation("the last event is \(head); \(lastEvent) was durable") }
        let states = Dictionary(uniqueKeysWithValues: tasks.map { ($0.id, $0.status.state) })
        for id in ids {
            guard let known = world.client.tasks[id], !known.isRemoved else { continue }
            guard let state = states[id] else { throw Violation("task \(id) was acknowledged and is not there") }
            if let promised = known.promised, promised != state {
                throw Violation("task \(id) was acknowledged to be \(promised.rawValue) and is \(state.rawValue)")
            }
        }
        try checkSessions(snapshot)
        try uploads.check(tasks, snapshot)
        try world.subscribers.check(snapshot)
        try world.daemon?.volatileStore.readHere(world.volatiles.check)
        try world.fairness.check(snapshot)
        try world.machine.check(snapshot)
    }

    /// A session whose pause was acknowledged has no running task. A session whose end was acknowledged accepts no
    /// tasks, and is gone in the end.
    private func checkSessions(_ snapshot: StoreSnapshot) throws {
        for (name, known) in world.client.sessions where known.isPaused {
            let running = TaskQuery(owner: Client.user, session: name, states: [.running])
            if let task = try snapshot.select(running, limit: 1).first {
                throw Violation("task \(task) runs, and its session \"\(name)\" was acknowledged to be paused")
            }
        }
        for (name, known) in world.client.sessions where known.isOver {
            let state = try snapshot.session(Client.key(name))?.state
            guard state == .invalidated || state == .finishing && !world.hasSettled else {
                throw Violation("session \"\(name)\" was to end and is \(state?.rawValue ?? "gone")")
            }
        }
    }

    /// A token means one task.
    private func checkTokens(_ records: [TaskRecord]) throws {
        let tokens = records.compactMap(\.spec.clientToken)
        if Set(tokens).count < tokens.count { throw Violation("two tasks have one token") }
    }

    /// Checks what must hold after all faults have stopped and everything had its time.
    func checkEnd() throws {
        try check()
        try uploads.checkEnd()
        try world.subscribers.checkEnd()
        try world.volatiles.checkEnd()
        for (state, count) in try world.read({ try $0.counts() }) where !state.isFinal && count > 0 {
            throw Violation("\(count) tasks never end: they are \(state.rawValue)")
        }
        let records = try world.read { try $0.tasks(try $0.select(TaskQuery(), after: nil, limit: 1000)) }
        try checkTokens(records)
        for record in records { try world.read { try world.metrics.check(record.id, $0) } }
        for record in records where world.client.tasks[record.id]?.isRemoved == false {
            guard record.status.state == .completed, record.spec.kind == .download else { continue }
            let file = record.result?.file ?? ""
            guard proven[String(file.dropFirst(world.folder.count))] != nil else {
                throw Violation("task \(record.id) is completed without its file \"\(file)\"")
            }
        }
    }

    /// No wrong byte has a final name, and no other file is left behind.
    private func checkFiles() throws {
        let store = world.daemon?.store.identifier ?? ""
        var parts: [(path: String, task: TaskID)] = []
        let paths = try World.destinations.flatMap { place in try world.names(in: place).map { place + "/" + $0 } }
        proven = proven.filter { paths.contains($0.key) }
        for path in paths {
            let name = String(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...])
            // The part files of volatile tasks of a dead daemon are removed by age.
            if AbandonedParts.isVolatile(name) { continue }
            if PartName.isPartName(name) {
                guard let task = PartName.task(of: name, store: store) else {
                    throw Violation("\(path) is nobody's part file")
                }
                parts.append((path, task))
            } else {
                try checkDelivered(path, name)
            }
        }
        // When a task ends or is removed, its part file is deleted before or soon after the answer.
        guard world.isCalm, !parts.isEmpty else { return }
        let records = try world.read { try $0.tasks(try $0.select(TaskQuery(), after: nil, limit: 1000)) }
        // The name may be newer than the one in the store.
        let held = Set(records.compactMap { $0.checkpoint?.inode })
        for (path, task) in parts where !held.contains(try inode(of: path)) {
            guard let record = records.first(where: { $0.id == task }) else {
                throw Violation("\(path) is a part file of no task")
            }
            if record.status.state.isFinal {
                throw Violation("\(path) is left of a task that is \(record.status.state.rawValue)")
            }
        }
    }

    private func inode(of path: String) throws -> UInt64 {
        var status = stat()
        guard stat(world.folder + path, &status) == 0 else { throw Violation("\(path) is gone") }
        return UInt64(status.st_ino)
    }

    private func checkDelivered(_ path: String, _ name: String) throws {
        guard let resources = world.client.wanted[name] else { throw Violation("nobody wanted a file \"\(name)\"") }
        var status = stat()
        guard stat(world.folder + path, &status) == 0 else { return }
        let stamp = UInt64(status.st_ino) &* 31 &+ UInt64(bitPattern: Int64(status.st_mtim.tv_nsec))
        guard proven[path] != stamp else { return }
        let bytes = try world.content(of: world.folder + path)
        let isServed = resources.contains { resource in
            if resource == Client.refusal { return bytes.isEmpty }
            let served = world.resources[resource]
            return served.versions.contains { served.content($0) == bytes }
        }
        guard isServed else {
            throw Violation(
                "\(path) has \(bytes.count) bytes that are of no version of resources \(resources.sorted())")
        }
        proven[path] = stamp
    }
}
