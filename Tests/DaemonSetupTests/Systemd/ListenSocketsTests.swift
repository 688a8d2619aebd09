import Foundation
import Glibc
import TestSupport
import Testing
import TransferModel

@testable import DaemonSetup

@Suite struct ListenSocketsTests {
    private func environment(count: Int = 1, names: String? = nil) -> [String: String] {
        var variables = ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "\(count)"]
        variables["LISTEN_FDNAMES"] = names
        return variables
    }

    @Test func aListeningSocketIsTakenOverWithNameAndPath() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("socket")
        let socket = try #require(BoundSocket(path, type: SOCK_STREAM, listening: true))
        let adopted = try ListenSockets(environment: environment(names: "dld.socket"), first: socket.descriptor)
        #expect(
            adopted.sockets == [.init(descriptor: socket.descriptor, name: "dld.socket", path: path)])
        #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
    }

    @Test func anAbstractSocketHasNoPathAndAMissingNameIsUnknown() throws {
        let socket = try #require(
            BoundSocket("@dld-listen-\(UUID().uuidString)", type: SOCK_STREAM, listening: true))
        let adopted = try ListenSockets(environment: environment(), first: socket.descriptor)
        #expect(adopted.sockets == [.init(descriptor: socket.descriptor, name: "unknown", path: nil)])
    }

    @Test(arguments: [
        [:], ["LISTEN_PID": "1", "LISTEN_FDS": "1"], ["LISTEN_FDS": "1"], ["LISTEN_PID": "\(getpid())"],
        ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "0"], ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "-3"],
    ])
    func variablesMeantForAnotherProcessAreIgnored(environment: [String: String]) throws {
        #expect(try ListenSockets(environment: environment).sockets.isEmpty)
    }

    /// The socket unit is wrong, and the message explains why.
    @Test func socketsOfAnotherKindAreRefused() throws {
        let datagram = try #require(BoundSocket("@dld-listen-\(UUID().uuidString)", type: SOCK_DGRAM))
        let silent = try #require(BoundSocket("@dld-listen-\(UUID().uuidString)", type: SOCK_STREAM))
        let internet = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(internet) }
        for (descriptor, reason) in [
            (datagram.descriptor, "is not a stream socket"), (silent.descriptor, "does not listen"),
            (internet, "is not a Unix socket"), (19999, "is not open"),
        ] {
            let error = #expect(throws: TransferError.self) {
                try ListenSockets(environment: environment(), first: descriptor)
            }
            #expect(error?.message.contains(reason) == true)
        }
    }
}
