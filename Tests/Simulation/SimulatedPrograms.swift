import CSimulation
import CurlEngine
import DaemonKit
import TransferModel
import TransferStore

/// The programs of sessions on a simulated machine: they run for a while, even without their daemon, and some of them
/// fail.
final class SimulatedPrograms: ProgramStarting, @unchecked Sendable {
    private struct Start {
        var begun: Int64
        var end: Int64
        var boot: BootID
    }

    private unowned let world: World
    private var last: [SessionKey: Start] = [:]
    private var ends: [Int32: Start] = [:]
    private var number: Int32 = 0
    private(set) var launches = 0

    static let interval: Seconds = 60
    /// Time may pass between the decision to start a program and its start.
    private static let slack: Seconds = 10

    init(_ world: World) { self.world = world }

    /// The configuration of every session that clients open.
    static let configuration: SessionConfiguration = {
        var launch = LaunchSpec()
        launch.argv = ["/bin/sh"]
        var configuration = SessionConfiguration()
        configuration.sendsLaunchEvents = true
        configuration.subscriber = "launched"
        configuration.launch = launch
        configuration.launchInterval = interval
        configuration.asks = DecisionKind.allCases
        return configuration
    }()

    func validate(_ launch: LaunchSpec) throws(TransferError) {}

    func isRunning(_ program: ProgramIdentity) -> Bool {
        guard world.plant != .relaunch, let start = ends[program.pid] else { return false }
        return isRunning(start)
    }

    private func isRunning(_ start: Start) -> Bool { start.boot == world.boot && sim_now() < start.end }

    func prepare(
        _ launch: LaunchSpec, for session: SessionKey, subscriber: String
    ) throws(TransferError) -> any PreparedProgram {
        number += 1
        let identity = ProgramIdentity(pid: number, startTime: UInt64(number), boot: "\(world.boot)")
        return Prepared(programs: self, session: session, identity: identity)
    }

    private struct Prepared: PreparedProgram {
        let programs: SimulatedPrograms
        let session: SessionKey
        let identity: ProgramIdentity

        func begin(ended: @escaping @Sendable (Int32) -> Void) { programs.begin(session, identity.pid, ended) }
        func abandon() {}
    }

    private func begin(_ session: SessionKey, _ pid: Int32, _ ended: @escaping @Sendable (Int32) -> Void) {
        let now = sim_now()
        if let before = last[session] {
            if isRunning(before) { world.violate("\(session.identifier) has two programs") }
            // If the clock was set forward, the interval ends early.
            let shortest = (Self.interval.milliseconds - Self.slack.milliseconds) * 1_000_000
            if !world.hasShiftedClock, now - before.begun < shortest {
                world.violate("\(session.identifier) was launched twice in \((now - before.begun) / 1_000_000) ms")
            }
        }
        // Some programs run longer than the interval.
        let duration = Int(pid) * 37 % 150
        let start = Start(begun: now, end: now + Int64(duration) * 1_000_000_000, boot: world.boot)
        (last[session], ends[pid]) = (start, start)
        launches += 1
        world.note("launch \(session.identifier), \(duration) s")
        Task {
            try? await Task.sleep(for: .seconds(duration))
            ended(pid % 3 == 0 ? 1 : 0)
        }
    }
}
