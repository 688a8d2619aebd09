/// haproxy in front of one server on the loopback. It reads and writes HTTP/1.1 on both sides, and passes interim
/// answers on.
package final class HAProxy: ServerProcess, @unchecked Sendable {
    /// - Parameter extra: directives for the proxy, such as `http-response set-header X y`.
    package static func start(to target: UInt16, extra: String = "") async throws -> HAProxy {
        let server = try HAProxy()
        try Files.write(
            server.folder.file("haproxy.cfg"),
            """
            global
                maxconn 100
            defaults
                mode http
                timeout connect 5s
                timeout client 30s
                timeout server 30s
            listen proxy
                bind 127.0.0.1:\(server.port)
                server target 127.0.0.1:\(target)
                \(extra)

            """)
        try await server.startServer(["haproxy", "-db", "-q", "-f", server.folder.file("haproxy.cfg")])
        return server
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
