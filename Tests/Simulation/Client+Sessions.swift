import DaemonKit
import TestSupport
import TransferModel

/// How clients open sessions and end them.
extension Client {
    /// Besides the one that is always there.
    static let sessions = ["apart", "brief"]

    /// A session as its clients know it.
    struct KnownSession {
        /// Requests that were made and not answered: of two at once either may be the last.
        var open = 0
        /// Somebody asked once for its end.
        var wasEnded = false
        /// It was acknowledged to take no tasks, and nobody has opened it since.
        var isOver = false
        /// Times that somebody asked to open it.
        var openings = 0
        /// Requests that may pause it, or let it go on.
        var pauseRequests = 0
        /// Those of them that are not answered: of two at once either may be the last.
        var openPauseRequests = 0
        /// It was acknowledged to be paused, and no other request may have changed that since.
        var isPaused = false
    }

    static func key(_ session: String) -> SessionKey { SessionKey(owner: user, identifier: session) }

    func open(_ session: String, _ daemon: SimulatedDaemon) async throws {
        sessions[session, default: KnownSession()].open += 1
        sessions[session]?.isOver = false
        sessions[session]?.openings += 1
        askToPause(session)
        defer { sessions[session]?.open -= 1 }
        _ = try await daemon.supervision.sessions.open(
            Self.key(session), kind: .background, configuration: SimulatedPrograms.configuration, by: Self.peer)
    }

    /// Ends one that was opened once, with its tasks or when they have ended.
    func endSession(_ daemon: SimulatedDaemon) {
        let names = sessions.keys.sorted()
        guard !names.isEmpty else { return }
        let name = names[world.random.below(names.count)]
        let cancels = world.random.chance(400)
        sessions[name]?.open += 1
        sessions[name]?.wasEnded = true
        askToPause(name)
        let own = cancels ? tasks.filter { $0.value.session == name }.keys.sorted() : []
        for id in own { begin(.cancel(keepPartial: false), id) }
        world.note("\(cancels ? "invalidate" : "finish") \(name)")
        Task {
            do {
                let (key, control) = (Self.key(name), daemon.supervision.sessions)
                let session = try await cancels ? control.invalidate(key) : control.finish(key)
                world.note("\(name) is \(session.state.rawValue)")
                endedSession(name, own)
                if sessions[name]?.open == 0 { sessions[name]?.isOver = true }
            } catch {
                endedSession(name, own)
                // One whose opening was not answered may not be there.
                if (error as? TransferError)?.code != .sessionNotFound { refused("end of \(name)", error) }
            }
        }
    }

    /// Pauses a session that was opened once, or lets it go on: what was acknowledged holds over every death.
    func pauseSession(_ daemon: SimulatedDaemon) {
        let names = sessions.keys.sorted()
        guard !names.isEmpty else { return }
        let name = names[world.random.below(names.count)]
        let pauses = sessions[name]?.isPaused == false && world.random.chance(600)
        let number = askToPause(name)
        let isAlone = sessions[name]?.openPauseRequests == 0
        sessions[name]?.openPauseRequests += 1
        world.note("\(pauses ? "pause" : "resume") session \(name)")
        Task {
            do {
                defer { sessions[name]?.openPauseRequests -= 1 }
                let (key, control) = (Self.key(name), daemon.supervision.sessions)
                _ = try await pauses ? control.pause(key) : control.resume(key)
                if isAlone, sessions[name]?.pauseRequests == number { sessions[name]?.isPaused = pauses }
                world.note("\(name) is \(pauses ? "paused" : "resumed")")
            } catch {
                let code = (error as? TransferError)?.code
                if code != .sessionNotFound, code != .sessionInvalidated { refused("pause of \(name)", error) }
            }
        }
    }

    @discardableResult
    private func askToPause(_ name: String) -> Int? {
        sessions[name]?.pauseRequests += 1
        sessions[name]?.isPaused = false
        return sessions[name]?.pauseRequests
    }

    /// Nothing is paused any more.
    func resumeSessions(_ daemon: SimulatedDaemon) async throws {
        for name in sessions.keys.sorted() {
            askToPause(name)
            do {
                _ = try await daemon.supervision.sessions.resume(Self.key(name))
            } catch let error as TransferError where [.sessionNotFound, .sessionInvalidated].contains(error.code) {}
        }
    }

    private func endedSession(_ name: String, _ tasks: [TaskID]) {
        sessions[name]?.open -= 1
        for id in tasks { end(id) }
    }

    /// Whether something is refused because its session has ended, or was never there.
    func isEnded(_ session: String, _ error: any Error) -> Bool {
        switch (error as? TransferError)?.code {
        case .sessionInvalidated?: sessions[session]?.wasEnded == true
        case .sessionNotFound?: true
        default: false
        }
    }

    func sessionsCrashed() { for name in sessions.keys { sessions[name]?.open = 0 } }
}
