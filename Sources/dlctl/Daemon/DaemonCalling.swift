import FoundationEssentials
import TransferClient
import TransferModel
import TransferRPC

/// What commands need of a daemon; the client has it, and tests script it.
protocol DaemonCalling: Sendable {
    func call<M: RPCMethod>(_ method: M.Type, _ parameters: M.Parameters) async throws -> M.Result
    func follow(
        _ parameters: Subscribe.Parameters
    ) async throws -> (head: SequenceNumber, events: AsyncThrowingStream<EventView, any Error>)
    func close() async
}

extension DaemonClient: DaemonCalling {
    func follow(
        _ parameters: Subscribe.Parameters
    ) async throws -> (head: SequenceNumber, events: AsyncThrowingStream<EventView, any Error>) {
        let subscription = try await subscribe(parameters)
        return (subscription.head, subscription.events)
    }
}

/// Finds the daemon, starts it where nobody answers and that is allowed, and translates what goes wrong.
struct DaemonAccess: Sendable {
    /// `--socket`.
    var socket: String?
    var system = false
    var mayStart: Bool
    var environment: [String: String]
    /// Told in one sentence when a daemon is being started.
    var remark: @Sendable (String) -> Void

    /// In the order they are tried; an explicit path is the only one.
    var candidates: [String] {
        DaemonClient.candidateSocketPaths(explicit: socket, system: system, environment: environment)
    }

    /// - Throws: `CommandFailure.noDaemon` where none answers and none could be started.
    func connect() async throws -> DaemonClient {
        var reasons: [String] = []
        if socket == nil, !system, let foreign = DaemonClient.foreignRuntimeFolder(environment: environment) {
            remark("XDG_RUNTIME_DIR \(Printable.text(foreign)) belongs to another user and is passed over")
        }
        if let client = await connectToRunning(&reasons) { return client }
        guard mayStart else {
            let advice = system ? "sudo systemctl enable --now dld.service dld.socket" : "dld"
            throw CommandFailure.noDaemon(
                "no daemon answers; start one with: \(advice)\n" + reasons.joined(separator: "\n"))
        }
        let launcher = DaemonLauncher(environment: environment, socket: explicitSocket)
        remark("starting dld")
        DaemonLauncher.keepDescriptorsFromChildren()
        return try await launcher.start { await connectToRunning() }
    }

    func connectToRunning() async -> DaemonClient? {
        var reasons: [String] = []
        return await connectToRunning(&reasons)
    }

    private func connectToRunning(_ reasons: inout [String]) async -> DaemonClient? {
        for path in candidates {
            do {
                return try await DaemonClient.connect(to: path)
            } catch ClientError.noDaemon(let socket, let reason) {
                reasons.append("  \(Printable.text(socket)): \(reason)")
            } catch {
                reasons.append("  \(Printable.text(path)): \(error)")
            }
        }
        return nil
    }

    private var explicitSocket: String? {
        let named = socket ?? environment["DLD_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        return named.map { PathText.absolute($0, in: WorkingFolder.path) }
    }
}
