import Glibc
import NIOCore
import TestSupport
import Testing

@testable import TransferClient

struct ConnectFailureTests {
    private func error(_ code: CInt, at socket: String = "/s") -> ClientError {
        ClientError.connecting(IOError(errnoCode: code, reason: "connect"), to: socket)
    }

    @Test func saysCausesInWords() {
        #expect(error(ENOENT) == .noDaemon(socket: "/s", reason: "the socket does not exist"))
        #expect(error(ECONNREFUSED) == .noDaemon(socket: "/s", reason: "nothing listens there"))
        #expect(error(ENOTDIR) == .noDaemon(socket: "/s", reason: "Not a directory"))
    }

    /// The connection was made and then lost, so the daemon is there.
    @Test func aConnectionThatWasMadeIsNoAbsence() {
        let error = ClientError.connecting(ChannelError.ioOnClosedChannel, to: "/s")
        guard case .connectionLost = error else {
            Issue.record("\(error)")
            return
        }
    }

    @Test func saysWhomTheSystemsDaemonServes() {
        guard case .notPermitted(let socket, let reason) = error(EACCES, at: DaemonClient.systemSocketPath) else {
            Issue.record("\(error(EACCES))")
            return
        }
        #expect(socket == DaemonClient.systemSocketPath)
        #expect(reason.contains("may not connect to it") && reason.hasSuffix("serves the groups dld and dld-admin"))
    }

    /// No file mode keeps root out.
    @Test func withoutABarrierThereIsNoMode() throws {
        let folder = try TemporaryFolder()
        #expect(Barrier(to: folder.file("absent")) == nil)
    }
}
