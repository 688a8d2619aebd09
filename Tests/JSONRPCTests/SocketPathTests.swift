import Glibc
import JSONRPC
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(4)))
struct SocketPathTests {
    @Test func refusesPathsThatDoNotFit() throws {
        let fits = "/" + String(repeating: "a", count: 106)
        #expect(try SocketPath(fits).path == fits)
        let error = #expect(throws: SocketPath.Unusable.self) { try SocketPath(fits + "b") }
        #expect(error?.description.contains("108 bytes") == false && error?.description.contains("107 bytes") == true)
        #expect(error?.description.contains("at most 82") == true)
        #expect(throws: SocketPath.Unusable.self) { try SocketPath("relative") }
        #expect(throws: SocketPath.Unusable.self) { try SocketPath("/folder/") }
    }

    /// sun_path has 108 bytes. Both sides reach a deeper folder through its descriptor.
    @Test func aDeepFolderIsReachedThroughItself() async throws {
        let folder = try TemporaryFolder()
        var deep = folder.path
        for _ in 0..<3 { deep += "/" + String(repeating: "d", count: 100) }
        let path = try SocketPath(deep + "/s")
        let server = try await RPCServer.start(on: .path(path), handler: EchoHandler())
        let connection = try await RPCClientConnection.connect(to: path.path) { _, _ in
        } closed: { _ in
        }
        #expect(try await connection.request("echo", Array("{}".utf8)) == Array("{}".utf8))
        await connection.close()
        let taken = await #expect(throws: SocketPath.Unusable.self) {
            try await RPCServer.start(on: .path(path), handler: EchoHandler())
        }
        #expect(taken?.isTaken == true)
        await server.stop()
        #expect(access(path.path, F_OK) != 0)
    }

    @Test func aServerListensInSeveralPlacesAndKnowsWhichItLost() async throws {
        let folder = try TemporaryFolder()
        let server = RPCServer(handler: EchoHandler())
        let first = try await server.listen(on: .path(try SocketPath(folder.file("a"))))
        let second = try await server.listen(on: .path(try SocketPath(folder.file("b"))))
        for name in ["a", "b"] {
            let client = try await LineClient.connect(to: folder.file(name))
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n")
            #expect(await client.line() != nil)
        }
        #expect(chmod(folder.file("a"), 0o666) == 0)
        #expect(first.isInPlace && second.isInPlace)
        #expect(rename(folder.file("b"), folder.file("a")) == 0)
        #expect(!first.isInPlace && !second.isInPlace)
        await server.close(first)
        #expect(access(folder.file("a"), F_OK) == 0, "another one's file")
        await server.stop()
    }

    @Test func removesAStaleSocketOnly() async throws {
        let folder = try TemporaryFolder()
        // A socket without a listener, as a crash leaves it.
        Glibc.close(try listen(on: folder.file("s")))
        #expect(access(folder.file("s"), F_OK) == 0)
        let server = try await RPCServer.start(on: .path(try SocketPath(folder.file("s"))), handler: EchoHandler())
        let error = await #expect(throws: SocketPath.Unusable.self) {
            try await RPCServer.start(on: .path(try SocketPath(folder.file("s"))), handler: EchoHandler())
        }
        #expect(error?.description.contains("Another daemon listens on \(folder.file("s")) ") == true)
        #expect(error?.description.contains("--socket") == true)
        let client = try await LineClient.connect(to: folder.file("s"))
        try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n")
        #expect(await client.line() != nil)
        await server.stop()
        #expect(access(folder.file("s"), F_OK) != 0)
    }

    @Test func leavesFilesAlone() async throws {
        let folder = try TemporaryFolder()
        Glibc.close(open(folder.file("s"), O_CREAT | O_WRONLY, 0o600))
        let error = await #expect(throws: SocketPath.Unusable.self) {
            try await RPCServer.start(on: .path(try SocketPath(folder.file("s"))), handler: EchoHandler())
        }
        #expect(error?.description.contains("is not a socket") == true)
        #expect(access(folder.file("s"), F_OK) == 0)
    }

    @Test func makesItsFolderPrivate() async throws {
        let folder = try TemporaryFolder()
        let inner = "\(folder.path)/run"
        let path = "\(inner)/dld/s"
        let server = try await RPCServer.start(on: .path(try SocketPath(path)), handler: EchoHandler())
        #expect(mode(of: "\(inner)/dld") == 0o700)
        #expect(mode(of: path) == 0o600)
        await server.stop()
        rmdir("\(inner)/dld")
        rmdir(inner)
    }

    @Test func leavesASocketThatReplacedItsOwn() async throws {
        let folder = try TemporaryFolder()
        let server = try await RPCServer.start(on: .path(try SocketPath(folder.file("s"))), handler: EchoHandler())
        unlink(folder.file("s"))
        let descriptor = try listen(on: folder.file("s"))
        await server.stop()
        #expect(access(folder.file("s"), F_OK) == 0)
        Glibc.close(descriptor)
    }

    private func mode(of path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }
}
