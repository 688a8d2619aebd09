import CurlEngine
import DaemonKit
import Logging
import TransferModel
import TransferStore

/// One life of the daemon: the real store and the real supervision over the scripted network.
final class SimulatedDaemon: @unchecked Sendable {
    let store: TransferStore
    let supervisor: Supervisor
    let network: ScriptedNetwork
    private(set) var hasStarted = false
    /// The disk failed while it started: somebody has to start it again.
    private(set) var hasFailed = false

    /// Nobody is started.
    private struct NoLaunches: LaunchServing {
        func finalEvent(in session: SessionKey) {}
        func check(_ configuration: SessionConfiguration) throws(TransferError) {}
    }

    static let mostRunning = 4

    init(_ world: World) throws {
        store = try TransferStore(folder: world.folder + "/state", inPlace: true)
        network = try ScriptedNetwork(world)
        let (access, pool) = (FileAccess(mode: .user), BlockingPool(width: 0))
        var arguments = DaemonArguments()
        arguments.settings["maximumConcurrentTasks"] = "\(Self.mostRunning)"
        let configuration = try ConfigurationLoader(
            arguments: arguments, environment: ["HOME": world.folder], systemFile: world.folder + "/none"
        ).load()
        supervisor = Supervisor(
            store: store, engine: network, access: access, pool: pool,
            conditions: Conditions(
                network: NetworkMonitor(watches: false), disk: DiskMonitor(access: access, pool: pool)),
            launches: NoLaunches(), configuration: { configuration },
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() })
        store.onCommit { [unowned world] in world.checker.committed($0) }
    }

    func start(_ world: World) {
        Task {
            do {
                try await supervisor.recover()
                try await supervisor.start()
                hasStarted = true
            } catch {
                hasFailed = world.hasDiskTrouble
                if !hasFailed { world.violate("the daemon does not start: \(error)") }
            }
        }
    }
}
