/// gcp-storage-emulator on a folder: upload sessions with Content-Range and 308.
package final class CloudStorageServer: ServerProcess, @unchecked Sendable {
    package static func start() async throws -> CloudStorageServer {
        let server = try CloudStorageServer()
        try await server.startServer([
            try PythonEnvironment.python(), "-m", "gcp_storage_emulator", "--data-dir", server.folder.path, "start",
            "--host", "127.0.0.1", "--port", "\(server.port)", "--default-bucket", "bucket",
        ])
        return server
    }

    /// The URL that opens a session for an object.
    package func url(_ name: String) -> String {
        "http://127.0.0.1:\(port)/upload/storage/v1/b/bucket/o?uploadType=resumable&name=\(name)"
    }

    /// The path of a complete object.
    package func object(_ name: String) -> String { folder.file(".cloudstorage/bucket/" + name) }
}
