import Threading
import TransferModel
import TransferStore

@testable import DaemonKit

/// Programs that run until a test ends them, and outlive the service that started them.
final class ScriptedPrograms: ProgramStarting {
    private struct State {
        var running: [ProgramIdentity: @Sendable (Int32) -> Void] = [:]
        var begun = 0
        var prepared = 0
        var subscribers: [String] = []
    }

    private let state = Guarded(State())
    /// The status with which programs end at once; nil if they keep running.
    let status = Guarded<Int32?>(0)
    let canStart = Guarded(true)

    var launches: Int { state.withLock { $0.begun } }
    var prepared: Int { state.withLock { $0.prepared } }
    var subscribers: [String] { state.withLock { $0.subscribers } }

    /// Ends all running programs.
    func end(_ status: Int32, isSeen: Bool = true) {
        let ended = state.withLock { state in
            defer { state.running = [:] }
            return state.running.values.map { $0 }
        }
        if isSeen { ended.forEach { $0(status) } }
    }

    /// Ends all running programs. The returned closures report the ends.
    func endUnseen() -> [@Sendable (Int32) -> Void] {
        state.withLock { state in
            defer { state.running = [:] }
            return Array(state.running.values)
        }
    }

    func validate(_ launch: LaunchSpec) throws(TransferError) {
        try LaunchRunner(mode: .user, environment: [:], socket: nil).validate(launch)
    }

    func isRunning(_ program: ProgramIdentity) -> Bool { state.withLock { $0.running[program] != nil } }

    func prepare(
        _ launch: LaunchSpec, for session: SessionKey, subscriber: String
    ) throws(TransferError) -> any PreparedProgram {
        guard canStart.withLock({ $0 }) else { throw TransferError(.badField, "No such program.") }
        let number = state.withLock { state in
            state.prepared += 1
            state.subscribers.append(subscriber)
            return state.prepared
        }
        return Prepared(
            programs: self, identity: ProgramIdentity(pid: Int32(number), startTime: UInt64(number), boot: "boot"))
    }

    private struct Prepared: PreparedProgram {
        let programs: ScriptedPrograms
        let identity: ProgramIdentity

        func begin(ended: @escaping @Sendable (Int32) -> Void) {
            programs.state.withLock { $0.begun += 1 }
            if let status = programs.status.withLock({ $0 }) { return ended(status) }
            programs.state.withLock { $0.running[identity] = ended }
        }

        func abandon() {}
    }
}
