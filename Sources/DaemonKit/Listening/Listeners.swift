import JSONRPC
import Logging
import Threading

/// Keeps the daemon reachable: listens in all its places, and makes a socket anew whose name is gone or became another's.
final class Listeners: Sendable {
    private struct Held: Sendable {
        let place: ListeningPlaces.Place
        var listener: RPCListener?
        /// What was last said about it in the log, so that it is said once.
        var complaint: String?

        var isInPlace: Bool { listener?.isInPlace ?? false }
    }

    private static let settling = Duration.milliseconds(300)

    private let server: RPCServer
    private let pool: BlockingPool
    private let logger: Logger
    private let held: Guarded<[Held]>
    private let watch: NameWatch
    /// Told where the daemon listens, each time that changes.
    private let changed: @Sendable ([String]) -> Void

    /// Opens what can be opened.
    /// - Throws: `SocketPath.Unusable` where a place that somebody named cannot be opened, where another daemon listens in one,
    ///   or where none is left.
    init(
        _ places: ListeningPlaces, adopted descriptor: Int32?, server: RPCServer, pool: BlockingPool, logger: Logger,
        changed: @escaping @Sendable ([String]) -> Void
    ) async throws {
        self.server = server
        self.pool = pool
        self.logger = logger
        self.changed = changed
        var opened: [Held] = []
        if let descriptor {
            let place = places.places.first { $0.kind == .adopted }
            let listener = try await server.listen(on: .adopted(descriptor: descriptor, path: place?.path.path))
            if let place { opened.append(Held(place: place, listener: listener)) }
        }
        for place in places.places where place.kind != .adopted {
            do throws(SocketPath.Unusable) {
                let socket = try await pool.run { () throws(SocketPath.Unusable) in try place.path.open() }
                opened.append(Held(place: place, listener: try await Self.listen(server, socket)))
            } catch {
                if place.kind == .named || error.isTaken { throw error }
                logger.warning("not listening in one place; tried again", metadata: ["reason": "\(error)"])
                opened.append(Held(place: place, complaint: error.description))
            }
        }
        if descriptor == nil, opened.allSatisfy({ $0.listener == nil }) {
            throw SocketPath.Unusable(description: opened.compactMap(\.complaint).joined(separator: " "))
        }
        let held = Guarded(opened)
        self.held = held
        watch = NameWatch { held.withLock { $0 }.allSatisfy(\.isInPlace) }
        tellChange()
    }

    private static func listen(
        _ server: RPCServer, _ socket: OpenSocket
    ) async throws(SocketPath.Unusable) -> RPCListener {
        do {
            return try await server.listen(on: .open(socket))
        } catch {
            throw SocketPath.Unusable(description: "A socket cannot be listened on: \(error).")
        }
    }

    /// Where the daemon listens, the best known place first.
    var paths: [String] { held.withLock { $0 }.filter { $0.listener != nil }.map(\.place.path.path) }

    /// Mends what is lost, until the watch is stopped.
    func tend() async {
        for await _ in watch.losses {
            // Whoever removes a whole folder is not to find a new socket in it meanwhile.
            try? await Task.sleep(for: Self.settling)
            await mend()
        }
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
                        : "the socket's name was gone; it is made anew",
                    metadata: ["socket": "\(one.place.path.path)"])
            } catch {
                next.listener = nil
                next.complaint = error.description
                if one.complaint != next.complaint {
                    logger.warning(
                        "a socket is lost; tried again until it can be made", metadata: ["reason": "\(error)"])
                }
            }
            if let old = one.listener { await server.close(old) }
            hasChanged = hasChanged || next.listener != nil || one.listener != nil
            held.withLock { [next] in $0[index] = next }
        }
        if hasChanged { tellChange() }
    }

    private func tellChange() {
        let paths = paths
        watch.watch(paths)
        changed(paths)
    }
}
