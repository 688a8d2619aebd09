/// A scripted server or proxy with one account that requires NTLM. It serves one file at every path.
package final class NTLMServer: ServerProcess, @unchecked Sendable {
    package static let user = "anna"
    package static let password = "right"

    /// - Parameter asksAsProxy: uses 407 instead of 401.
    package static func start(_ content: Content, asksAsProxy: Bool = false) async throws -> NTLMServer {
        let server = try NTLMServer()
        try server.publish("file", content)
        try await server.startServer([
            "python3", try PythonEnvironment.script("ntlm.py"), "\(server.port)", user, password,
            server.folder.file("www/file"), asksAsProxy ? "407" : "401",
        ])
        return server
    }

    package var url: String { "http://127.0.0.1:\(port)/file" }

    /// How far each request got: `asked` without credentials, `challenged`, `served`, `refused`.
    package var steps: [String] { log.split(separator: "\n").map(String.init) }
}
