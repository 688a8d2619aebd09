import Glibc

/// tuspyserver under uvicorn: tus 1.0.0 with creation, expiration and termination. It has no checksums.
package final class TusServer: ServerProcess, @unchecked Sendable {
    package static func start() async throws -> TusServer {
        let server = try TusServer()
        try server.folder.folder("files")
        try await server.startServer([
            try PythonEnvironment.python(), try PythonEnvironment.script("tus.py"), "\(server.port)",
            server.folder.file("files"),
        ])
        return server
    }

    /// Where uploads are created.
    package var url: String { "http://127.0.0.1:\(port)/files/" }

    /// Paths of what it holds, begun or complete; beside each its notes, `.info`.
    package var uploads: [String] {
        Files.names(in: folder.file("files")).filter { !$0.contains(".") }.map { folder.file("files/" + $0) }
    }

    /// Forgets uploads and requests, for the next test.
    package func clear() {
        for name in Files.names(in: folder.file("files")) { Files.removeTree(folder.file("files/" + name)) }
        truncate(folder.file("log"), 0)
    }
}
