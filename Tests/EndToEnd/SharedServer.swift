import TestSupport
import Testing

/// One server or daemon for all tests of a suite, started before the first and stopped after the last, because some take
/// long to start.
struct SharedServer<Server: Sendable>: SuiteTrait, TestScoping {
    let start: @Sendable () async throws -> Server
    /// Looks at the server after the last test.
    var end: @Sendable (Server) -> Void = { _ in }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let server = try await start()
        try await SharedServers.$current.withValue(server) { try await function() }
        end(server)
    }

    /// The server of the current suite.
    static var current: Server {
        get throws { try #require(SharedServers.current as? Server) }
    }
}

extension Trait where Self == SharedServer<DaemonProcess> {
    /// One daemon for those tests of a suite that begin with `Scene.shared()`.
    static var oneDaemon: Self {
        SharedServer(
            start: { try await DaemonProcess.started() },
            end: { daemon in
                #expect(daemon.isRunning, "the last test has ended the daemon: \(daemon.log.suffix(2000))")
            })
    }
}

private enum SharedServers {
    @TaskLocal static var current: (any Sendable)?
}
