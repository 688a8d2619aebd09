import DaemonKit
import Glibc
import TransferModel
import TransferStore

/// Looks at a world from outside and says which promise is broken.
final class Checker: @unchecked Sendable {
    private unowned let world: World
    /// Delivered files that were found right, by name.
    private var proven: [String: UInt64] = [:]

    /// What there was to look at.
    private struct Sight: Equatable {
        var event: SequenceNumber
        var changes: Int
        /// When the folder of destinations last got or lost a name.
        var named: [Int]
    }

    private var seen: Sight?
    private let uploads: UploadChecker

    init(_ world: World) {
        self.world = world
        uploads = UploadChecker(world)
    }

    /// Hears of each commit.
    func committed(_ events: [EventRecord]) {
        for event in events { world.note("\(event.type.rawValue) \(event.task.map { "\($0)" } ?? "")") }
        do {
            try world.ledger.commit(events)
        } catch {
            world.violate("\(error)")
        }
    }

    /// Whether there was a commit, an answer to a client, or another name in the folder of destinations since the last look.
    var isDue: Bool { seen != sight() }

    private func sight() -> Sight {
        var status = stat()
        stat(world.folder + "/out", &status)
        return Sight(
            event: world.ledger.head, changes: world.client.changes,
            named: [status.st_mtim.tv_sec, status.st_mtim.tv_nsec])
    }

    /// Everything that must hold at any moment.
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
        try world.fairness.check(snapshot)
    }

    /// Whose end was acknowledged takes no tasks; once everything had its time there is nothing left of it.
    private func checkSessions(_ snapshot: StoreSnapshot) throws {
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

    /// What must hold once nothing goes wrong any more, and everything had its time.
    func checkEnd() throws {
        try check()
        try uploads.checkEnd()
        try world.subscribers.checkEnd()
        for (state, count) in try world.read({ try $0.counts() }) where !state.isFinal && count > 0 {
            throw Violation("\(count) tasks never end: they are \(state.rawValue)")
        }
        let records = try world.read { try $0.tasks(try $0.select(TaskSelector(), after: nil, limit: 1000)) }
        try checkTokens(records)
        for record in records where world.client.tasks[record.id]?.isRemoved == false {
            guard record.status.state == .completed, record.spec.kind == .download else { continue }
            let name = record.result?.file?.split(separator: "/").last.map(String.init) ?? ""
            guard proven[name] != nil else {
                throw Violation("task \(record.id) is completed without its file \"\(name)\"")
            }
        }
    }

    /// No wrong byte has a final name, and no other file lies about.
    private func checkFiles() throws {
        let store = world.daemon?.store.identifier ?? ""
        var parts: [(name: String, task: TaskID)] = []
        let names = try world.names(in: "/out")
        proven = proven.filter { names.contains($0.key) }
        for name in names {
            if PartName.isPartName(name) {
                guard let task = PartName.task(of: name, store: store) else {
                    throw Violation("\(name) is nobody's part file")
                }
                parts.append((name, task))
            } else {
                try checkDelivered(name)
            }
        }
        // Whoever removes a task, or ends it, drops its part at once or with what follows the answer.
        guard world.isCalm, !parts.isEmpty else { return }
        let records = try world.read { try $0.tasks(try $0.select(TaskSelector(), after: nil, limit: 1000)) }
        // Its name may be newer than what the store could be told.
        let held = Set(records.compactMap { $0.checkpoint?.inode })
        for (name, task) in parts where !held.contains(try inode(of: name)) {
            guard let record = records.first(where: { $0.id == task }) else {
                throw Violation("\(name) is a part file of no task")
            }
            if record.status.state.isFinal {
                throw Violation("\(name) is left of a task that is \(record.status.state.rawValue)")
            }
        }
    }

    private func inode(of name: String) throws -> UInt64 {
        var status = stat()
        guard stat(world.folder + "/out/" + name, &status) == 0 else { throw Violation("\(name) is gone") }
        return UInt64(status.st_ino)
    }

    private func checkDelivered(_ name: String) throws {
        guard let resource = world.client.wanted[name] else { throw Violation("nobody wanted a file \"\(name)\"") }
        let path = world.folder + "/out/" + name
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        let stamp = UInt64(status.st_ino) &* 31 &+ UInt64(bitPattern: Int64(status.st_mtim.tv_nsec))
        guard proven[name] != stamp else { return }
        let bytes = try world.content(of: path)
        let served = world.resources[resource]
        guard served.versions.contains(where: { served.content($0) == bytes }) else {
            throw Violation("\(name) has \(bytes.count) bytes that are of no version of resource \(resource)")
        }
        proven[name] = stamp
    }
}
