import Glibc

/// tuspyserver under uvicorn: tus 1.0.0 with creation, expiration and termination, but without checksums.
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

    /// The URL at which uploads are created.
    package var url: String { "http://127.0.0.1:\(port)/files/" }

    /// The paths of its uploads, begun or complete. Next to each is its `.info` file.
    package var uploads: [String] {
        Files.names(in: folder.file("files")).filter { !$0.contains(".") }.map { folder.file("files/" + $0) }
    }

    /// Removes uploads and requests before the next test.
    package func clear() {
        for name in Files.names(in: folder.file("files")) { Files.removeTree(folder.file("files/" + name)) }
        truncate(folder.file("log"), 0)
    }
}
