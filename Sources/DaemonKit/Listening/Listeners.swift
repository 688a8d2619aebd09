import DaemonSetup
import FileKit
import Glibc
import JSONRPC
import Logging
import Threading
import TransferModel
import TransferStore

/// Keeps the daemon reachable. It listens in all its places, and creates a socket again if its name is gone or now
/// belongs to another file.
final class Listeners: Sendable {
    private struct Held: Sendable {
        let place: ListeningPlaces.Place
        /// Where clients may connect but are not answered yet.
        var address: RPCServer.Address?
        var listener: RPCListener?
        /// The last complaint in the log, so that each is logged once.
        var complaint: String?

        var isInPlace: Bool { listener?.isInPlace ?? false }
    }

    private static let settling = Duration.milliseconds(300)

    private let server: RPCServer
    private let store: TransferStore
    private let pool: BlockingPool
    private let logger: Logger
    private let held: Guarded<[Held]>
    private let watch: NameWatch
    /// Called with the daemon's paths each time they change.
    private let changed: @Sendable ([String]) -> Void

    /// Opens every place that can be opened. No client is answered before `changed` knows all of them.
    /// - Parameter store: the folder that the sockets stand for. A socket is created again only while that folder is in
    ///   place.
    /// - Throws: `SocketPath.Unusable` if an explicitly named place cannot be opened, if another daemon listens in a
    ///   place, or if no place can be opened.
    init(
        _ places: ListeningPlaces, adopted descriptor: Int32?, server: RPCServer, store: TransferStore,
        pool: BlockingPool,
        logger: Logger, changed: @escaping @Sendable ([String]) -> Void
    ) async throws {
        self.server = server
        self.store = store
        self.pool = pool
        self.logger = logger
        self.changed = changed
        var opened: [Held] = []
        do {
            for place in places.places {
                opened.append(try await Self.open(place, adopted: descriptor, pool, logger))
            }
            if descriptor == nil, opened.allSatisfy({ $0.address == nil }) {
                throw SocketPath.Unusable(description: opened.compactMap(\.complaint).joined(separator: " "))
            }
        } catch {
            for case .open(let socket)? in opened.map(\.address) { socket.discard() }
            throw error
        }
        changed(opened.filter { $0.address != nil }.map(\.place.path.path))
        // An abstract socket of the service manager has no place.
        if let descriptor, opened.allSatisfy({ $0.place.kind != .adopted }) {
            try await server.listen(on: .adopted(descriptor: descriptor))
        }
        for index in opened.indices {
            if let address = opened[index].address { opened[index].listener = try await server.listen(on: address) }
            opened[index].address = nil
        }
        let held = Guarded(opened)
        self.held = held
        watch = NameWatch { held.withLock { $0 }.allSatisfy(\.isInPlace) && store.loss == nil }
        watch.watch(names)
    }

    /// Finds out before a new state folder is made whether the daemon could listen. In an old one, the lock says more.
    /// - Throws: `SocketPath.Unusable` if another daemon listens in a place.
    static func requireFree(
        _ configuration: Configuration, adopted: ListenSockets.Adopted?, _ pool: BlockingPool
    ) async throws {
        guard access(configuration.stateDirectory + "/lock", F_OK) != 0 else { return }
        for place in try ListeningPlaces(configuration, adopted: adopted).places where place.kind != .adopted {
            do throws(SocketPath.Unusable) {
                try await pool.run { () throws(SocketPath.Unusable) in try place.path.requireFree() }
            } catch {
                // If it is not taken, opening it says what is wrong.
                if error.isTaken { throw error }
            }
        }
    }

    private static func open(
        _ place: ListeningPlaces.Place, adopted descriptor: Int32?, _ pool: BlockingPool, _ logger: Logger
    ) async throws(SocketPath.Unusable) -> Held {
        if place.kind == .adopted, let descriptor {
            return Held(place: place, address: .adopted(descriptor: descriptor, path: place.path.path))
        }
        do throws(SocketPath.Unusable) {
            let socket = try await pool.run { () throws(SocketPath.Unusable) in try place.path.open() }
            return Held(place: place, address: .open(socket))
        } catch {
            if place.kind == .named || error.isTaken { throw error }
            logger.warning("not listening in one place; tried again", metadata: ["reason": "\(error)"])
            return Held(place: place, complaint: error.description)
        }
    }

    private static func listen(
        _ server: RPCServer, _ socket: OpenSocket
    ) async throws(SocketPath.Unusable) -> RPCListener {
        do {
            return try await server.listen(on: .open(socket))
        } catch {
            throw SocketPath.Unusable(description: "Cannot listen on a socket: \(error).")
        }
    }

    /// The paths on which the daemon listens, best known first.
    var paths: [String] { held.withLock { $0 }.filter { $0.listener != nil }.map(\.place.path.path) }

    /// Creates lost sockets again until the watch is stopped.
    /// - Returns: why it gave up: the state folder is no longer where clients look for it.
    func tend() async -> TransferError? {
        for await _ in watch.losses {
            // Waits, so that a user who is removing a whole folder does not find a new socket in it.
            try? await Task.sleep(for: Self.settling)
            if let loss = await pool.run({ [store] in store.loss }) { return loss }
            await mend()
        }
        return nil
    }

    func stop() { watch.stop() }

    private func mend() async {
        var hasChanged = false
        for index in held.withLock({ $0.indices }) {
            let one = held.withLock { $0[index] }
            if await pool.run({ one.isInPlace }) { continue }
            var next = one
            do throws(SocketPath.Unusable) {
                let socket = try await pool.run { () throws(SocketPath.Unusable) in try one.place.path.open() }
                next.listener = try await Self.listen(server, socket)
                next.complaint = nil
                logger.notice(
                    one.place.kind == .adopted
                        ? "systemd's socket lost its name; another one takes its place until dld.socket is restarted"
                        : "the socket's name was gone; it is created again",
                    metadata: ["socket": "\(one.place.path.path)"])
            } catch {
                next.listener = nil
                next.complaint = error.description
                if one.complaint != next.complaint {
                    logger.warning(
                        "a socket is lost; tried again until it can be created", metadata: ["reason": "\(error)"])
                }
            }
            if let old = one.listener { await server.close(old) }
            hasChanged = hasChanged || next.listener != nil || one.listener != nil
            held.withLock { [next] in $0[index] = next }
        }
        if hasChanged { tellChange() }
    }

    private func tellChange() {
        watch.watch(names)
        changed(paths)
    }

    private var names: [String] { paths + store.databasePaths }
}

extension RPCLimits {
    /// Combines the limits of the protocol with those that the configuration sets.
    init(_ settings: DaemonSettings) {
        self.init()
        line = Bounds.line
        longLine = Bounds.longLine
        longRequests = Bounds.longRequests
        batch = Bounds.batch
        inFlight = Bounds.requestsInFlight
        outgoing = Bounds.waitingAnswers
        outgoingPerUser = Bounds.waitingAnswersOfUser
        laterLine = Bounds.waitingEvent
        unfinishedLines = Bounds.unfinishedLines
        unfinishedLinesPerUser = Bounds.unfinishedLinesOfUser
        connections = settings.maximumConnections
        connectionsPerUser = settings.maximumConnectionsPerUser
    }
}
