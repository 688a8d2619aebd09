import DaemonSetup
import Glibc
import JSONRPC
import Logging
import TestSupport
import Testing
import Threading
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

@Suite struct ListenersTests {
    /// Answers with the known sockets of the daemon.
    private final class Listing: RequestHandler {
        let known = Guarded<[String]>([])

        func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer {
            let paths = known.withLock { $0 }.map { "\"\($0)\"" }.joined(separator: ",")
            return RPCAnswer(.success(Array("[\(paths)]".utf8)))
        }
        func opened(_ connection: RPCConnection) {}
        func closed(_ connection: RPCConnection) {}
    }

    /// A program that connects early learns all sockets too. Here, the second socket takes a while.
    @Test(.timeLimit(.minutes(1))) func nobodyIsAnsweredBeforeAllSocketsAreKnown() async throws {
        let folder = try TemporaryFolder()
        let fixture = try ConfigurationFixture()
        let store = try TransferStore(folder: folder.file("state"))
        defer { store.close() }
        var places = try ListeningPlaces(fixture.loader.load(), adopted: nil)
        let paths = [folder.file("first"), folder.file("second")]
        places.places = try paths.map { .init(path: try SocketPath($0), kind: .usual) }
        let slow = try FullSocket(paths[1])
        let listing = Listing()
        let server = RPCServer(handler: listing)
        let opening = Task { [places] in
            try await Listeners(
                places, adopted: nil, server: server, store: store, pool: BlockingPool(), logger: Logger(label: "test")
            ) { paths in listing.known.withLock { $0 = paths } }
        }
        #expect(await eventually(within: 20) { Files.status(paths[0]) != nil })
        var early: RPCProbe?
        #expect(
            await eventually(within: 20) {
                early = try? await RPCProbe(paths[0])
                return early != nil
            })
        let probe = try #require(early)
        let isAnswered = Guarded(false)
        let answer = Task {
            defer { isAnswered.withLock { $0 = true } }
            return try await probe.call("daemon.info")
        }
        // A premature answer would lack the second socket.
        _ = await eventually(within: 0.5) { isAnswered.withLock { $0 } }
        slow.close()
        #expect(try await answer.value == .array(paths.map { .string($0) }))
        let listeners = try await opening.value
        #expect(listeners.paths == paths)
        listeners.stop()
        await server.stop()
    }

    /// A listening socket whose queue is full: connect(2) waits there until it is closed. After that, the socket is
    /// stale.
    private final class FullSocket: Sendable {
        private let descriptors: [Int32]

        init(_ path: String) throws {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            func with(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
                withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
                    }
                }
            }
            let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            guard with({ bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0 else {
                throw SupportError("cannot listen at \(path): errno \(errno)")
            }
            var open = [listener]
            while true {
                let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
                open.append(client)
                if with({ connect(client, $0, $1) }) != 0 { break }
            }
            descriptors = open
        }

        func close() { for descriptor in descriptors { Glibc.close(descriptor) } }
    }
}
