import CSimulation
import CurlEngine
import DaemonKit
import FileKit
import Foundation
import TransferModel
import TransferStore

/// Clients whose sessions live as long as their connections, and the rules for them: nothing of them is durable,
/// nothing is left of them, and no stream gets a byte more than its client asked for.
final class VolatileClients: @unchecked Sendable {
    private unowned let world: World
    private var clients: [VolatileClient] = []
    private var owners: [TaskID: VolatileClient] = [:]
    private var names = 0
    /// The tasks that were completed since the last check.
    private var completed: [TaskID] = []
    /// Delivered files stay, whatever happens to the session.
    private var delivered: Set<String> = []

    private static let mostClients = 3
    private static let most = 12

    init(_ world: World) { self.world = world }

    /// Returns a name for a download that no other download has.
    func newName() -> String {
        names += 1
        return "w\(names)"
    }

    func learn(_ task: TaskID, _ client: VolatileClient) { owners[task] = client }

    /// Tells whether the task was stopped and the stop was acknowledged.
    func wantsQuiet(_ task: TaskID) -> Bool {
        guard let client = owners[task], let known = client.tasks[task] else { return false }
        return known.isStopped && known.open == 0 && !client.isGone
    }

    /// Whether the task is one of an ephemeral session, as far as its client is known.
    func isEphemeral(_ context: TransferContext) -> Bool {
        guard context.task.isVolatile else { return false }
        // A client that was refused because the session is in use does not own it.
        return clients.last { $0.key == context.session && $0.isOpen }?.kind == .ephemeral
    }

    // MARK: What happens

    func act() {
        guard let daemon = world.daemon else { return }
        let here = clients.filter { !$0.isGone }
        if here.isEmpty || here.count < Self.mostClients && world.random.chance(30) {
            guard clients.count < Self.most else { return }
            let client = VolatileClient(world, clients.count)
            clients.append(client)
            return client.open(daemon)
        }
        here[world.random.below(here.count)].act(daemon)
    }

    /// The daemon died, and everything volatile with it.
    func crashed() {
        for client in clients { client.leave(nil) }
        owners = [:]
        completed = []
    }

    /// All connected clients let their tasks end, then leave.
    func finish(_ snapshot: StoreSnapshot) throws {
        guard let daemon = world.daemon else { return }
        for client in clients where !client.isGone {
            let heads = try snapshot.heads(client.tasks.keys.sorted())
            let isDone = client.isOpen && heads.allSatisfy(\.status.state.isFinal)
            let paused = heads.filter { $0.status.state == .paused }.map(\.id)
            if isDone { client.leave(daemon) } else { client.finish(daemon, paused: paused) }
        }
    }

    /// Receives the events of the volatile store's commits.
    func committed(_ events: [EventRecord]) {
        for event in events {
            world.note("volatile \(event.type.rawValue) \(event.task.map { "\($0)" } ?? "")")
            if event.sequence != nil { world.violate("a volatile event has number \(event.sequence?.rawValue ?? 0)") }
            guard let task = event.task else { continue }
            if !task.isVolatile { world.violate("durable task \(task) is in the volatile store") }
            guard event.type == .taskCompleted else { continue }
            completed.append(task)
            if case .string(let file)? = event.payload["file"] { delivered.insert(file) }
        }
    }

    // MARK: What must be true

    func check(_ snapshot: StoreSnapshot) throws {
        let ended = completed
        // Some tasks end before their client knows of them.
        completed = ended.filter { owners[$0] == nil }
        for record in try snapshot.tasks(ended) {
            guard let client = owners[record.id], let known = client.tasks[record.id] else { continue }
            if known.isStream { client.checkStream(record.id) }
            if !known.isStream, known.file == nil { try check(record, known, snapshot) }
        }
        // If the session is gone, nothing of it continues.
        for (task, client) in owners where client.isGone {
            guard world.daemon?.network.isActive(task) == true else { continue }
            if try snapshot.heads([task]).isEmpty { throw Violation("task \(task) has traffic and is not there") }
        }
    }

    /// The body is one version, and a stored body is no older than its server allows.
    private func check(_ record: TaskRecord, _ known: VolatileClient.Known, _ snapshot: StoreSnapshot) throws {
        let resource = world.resources[known.resource]
        let body = try snapshot.body(of: record.id, .response) ?? []
        let versions = resource.versions.filter { resource.content($0) == body }
        if versions.isEmpty { throw Violation("data task \(record.id) keeps \(body.count) bytes of no version") }
        guard record.response?.fromCache == true else { return }
        guard let limit = resource.freshness else {
            if resource.caching == "no-store" {
                throw Violation("task \(record.id) is answered from what must not be kept")
            }
            return
        }
        if world.hasShiftedClock { return }
        let oldest = known.begun.rawValue - limit * 1000 - 1000
        guard versions.contains(where: { resource.confirmed[$0] ?? .min >= oldest }) else {
            throw Violation("task \(record.id) is answered from what is older than \(limit) s")
        }
    }

    /// Tells whether all clients have left and nothing of them remains, not even a part file that its disk kept from
    /// being removed.
    func areSettled() throws -> Bool {
        guard clients.allSatisfy(\.isGone) else { return false }
        return try world.daemon?.volatileStore.readHere {
            try $0.sessions().isEmpty && $0.leftParts(limit: 1).isEmpty
        } ?? true
    }

    func checkEnd() throws {
        guard let store = world.daemon?.volatileStore else { return }
        if try !areSettled() { throw Violation("volatile sessions, or part files of them, never end") }
        for place in World.destinations {
            for name in try world.names(in: place) where PartName.task(of: name, store: store.identifier) != nil {
                throw Violation("\(place)/\(name) is left of a volatile session")
            }
        }
        for file in delivered where world.size(of: file) == nil { throw Violation("\(file) was delivered and is gone") }
        try checkFiles()
    }

    /// No file of the daemon contains anything of an ephemeral session.
    func checkFiles() throws {
        let marker = Data(VolatileClient.marker.utf8)
        for name in try world.names(in: "/state") where name.hasPrefix("dld.sqlite") || name == "journal" {
            let bytes = try world.content(of: world.folder + "/state/" + name)
            if Data(bytes).range(of: marker) != nil {
                throw Violation("/state/\(name) has something of an ephemeral session")
            }
        }
    }
}
