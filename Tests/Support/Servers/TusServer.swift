import Glibc

/// tuspyserver under uvicorn: tus 1.0.0 with creation, expiration and termination. It has no checksums.
package final class TusServer: ServerProcess, @unchecked Sendable {
    package static func start() async throws -> TusServer {
        let server = try TusServer()
        try server.folder.folder("files")
        try Files.write(
            server.folder.file("serve.py"),
            """
            import sys
            import uvicorn
            from fastapi import FastAPI
            from tuspyserver import create_tus_router

            application = FastAPI()
            application.include_router(create_tus_router(prefix="files", files_dir=sys.argv[2]))
            uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]))

            """)
        try await server.startServer([
            try PythonEnvironment.python(), server.folder.file("serve.py"), "\(server.port)",
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
