import TransferClient

/// Finds the daemon of this user, and starts one if there is none.
enum Daemon {
    /// - Throws: `ClientError`, `URLError`.
    /// - Parameter socket: the only one to try; nil: those of this user.
    static func connect(
        to socket: String?, notified: @escaping @Sendable (String, [UInt8]) -> Void,
        closed: @escaping @Sendable () -> Void
    ) async throws -> DaemonClient {
        let paths =
            socket.map { [$0] }
            ?? DaemonClient.candidateSocketPaths(environment: ProcessInfo.processInfo.environment)
        if let client = try await look(paths, notified, closed) { return client }
        if socket == nil {
            try await start()
            if let client = try await look(paths, notified, closed) { return client }
        }
        throw URLError(
            .networkConnectionLost, userInfo: [NSLocalizedDescriptionKey: "No dld answers, and none could be started."])
    }

    private static func look(
        _ paths: [String], _ notified: @escaping @Sendable (String, [UInt8]) -> Void,
        _ closed: @escaping @Sendable () -> Void
    ) async throws -> DaemonClient? {
        for path in paths {
            guard let client = try? await DaemonClient.connect(to: path, notified: notified, closed: closed) else {
                continue
            }
            // Another user could read what is sent.
            if let user = client.daemonUser, user == geteuid() || user == 0 || path == DaemonClient.systemSocketPath {
                return client
            }
            await client.close()
        }
        return nil
    }

    /// Runs `dlctl start`, which knows how: it is next to this program, or in PATH.
    private static func start() async throws {
        let names = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        let own = Bundle.main.executableURL?.deletingLastPathComponent().path
        let folders = [own].compactMap { $0 } + names.split(separator: ":").map(String.init)
        guard let path = folders.map({ $0 + "/dlctl" }).first(where: { access($0, X_OK) == 0 }) else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["start"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            process.terminationHandler = { _ in done.resume() }
            do { try process.run() } catch {
                process.terminationHandler = nil
                done.resume()
            }
        }
    }
}
