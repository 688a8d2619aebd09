import DaemonKit
import TestSupport
import TransferModel

/// How clients open and end sessions.
extension Client {
    /// The sessions besides the one that always exists.
    static let sessions = ["apart", "brief"]

    /// A session as its clients know it.
    struct KnownSession {
        /// Requests without an answer. If two run at the same time, either may be the last.
        var open = 0
        /// A client asked once for the end of the session.
        var wasEnded = false
        /// The daemon acknowledged that the session accepts no tasks, and no client has opened it since.
        var isOver = false
        /// How often clients asked to open the session, and how often they were answered.
        var openings = 0
        /// Requests that may pause or resume the session.
        var pauseRequests = 0
        /// Those requests without an answer. If two run at the same time, either may be the last.
        var openPauseRequests = 0
        /// The daemon acknowledged the pause, and no other request may have changed that since.
        var isPaused = false
    }

    static func key(_ session: String) -> SessionKey { SessionKey(owner: user, identifier: session) }

    func open(_ session: String, _ daemon: SimulatedDaemon) async throws {
        sessions[session, default: KnownSession()].open += 1
        sessions[session]?.isOver = false
        sessions[session]?.openings += 1
        askToPause(session)
        defer {
            sessions[session]?.open -= 1
            sessions[session]?.openings += 1
        }
        _ = try await daemon.supervision.services.sessions.open(
            Self.key(session), kind: .background, configuration: SimulatedPrograms.configuration, by: Self.peer)
    }

    /// Ends a session that was opened once: with its tasks, or after they have ended.
    func endSession(_ daemon: SimulatedDaemon) {
        let names = sessions.keys.sorted()
        guard !names.isEmpty else { return }
        let name = names[world.random.below(names.count)]
        let cancels = world.random.chance(400)
        sessions[name]?.open += 1
        sessions[name]?.wasEnded = true
        let openings = sessions[name]?.openings
        askToPause(name)
        let own = cancels ? tasks.filter { $0.value.session == name }.keys.sorted() : []
        for id in own { begin(.cancel(keepPartial: false), id) }
        world.note("\(cancels ? "invalidate" : "finish") \(name)")
        Task {
            do {
                let (key, control) = (Self.key(name), daemon.supervision.services.sessions)
                let session = try await cancels ? control.invalidate(key) : control.finish(key)
                world.note("\(name) is \(session.state.rawValue)")
                endedSession(name, own)
                // It may have been opened again after its end, before this answer.
                if sessions[name]?.open == 0, sessions[name]?.openings == openings { sessions[name]?.isOver = true }
            } catch {
                endedSession(name, own)
                // If the request to open it was not answered, the session may not exist.
                if (error as? TransferError)?.code != .sessionNotFound { refused("end of \(name)", error) }
            }
        }
    }

    /// Pauses or resumes a session that was opened once. An acknowledged pause survives every crash.
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
                let (key, control) = (Self.key(name), daemon.supervision.services.sessions)
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

    /// Resumes all sessions.
    func resumeSessions(_ daemon: SimulatedDaemon) async throws {
        for name in sessions.keys.sorted() {
            askToPause(name)
            do {
                _ = try await daemon.supervision.services.sessions.resume(Self.key(name))
            } catch let error as TransferError where [.sessionNotFound, .sessionInvalidated].contains(error.code) {}
        }
    }

    private func endedSession(_ name: String, _ tasks: [TaskID]) {
        sessions[name]?.open -= 1
        for id in tasks { end(id) }
    }

    /// Tells whether a request was refused because its session has ended or never existed.
    func isEnded(_ session: String, _ error: any Error) -> Bool {
        switch (error as? TransferError)?.code {
        case .sessionInvalidated?: sessions[session]?.wasEnded == true
        case .sessionNotFound?: true
        default: false
        }
    }

    func sessionsCrashed() { for name in sessions.keys { sessions[name]?.open = 0 } }
}
