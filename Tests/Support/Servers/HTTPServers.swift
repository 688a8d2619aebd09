import Glibc

/// nginx with HTTP/1.1 on `port` and, with TLS, also HTTP/2 on `tlsPort`.
package final class Nginx: ServerProcess, @unchecked Sendable {
    package private(set) var tlsPort: UInt16 = 0
    package private(set) var certificates: TestCertificates?

    /// - Parameters:
    ///   - http: directives for the http block.
    ///   - extra: directives for the server block, such as `limit_rate 4m;`.
    package static func start(tls: Bool = false, http: String = "", extra: String = "") async throws -> Nginx {
        let server = try Nginx()
        try await server.configure(tls: tls, http: http, extra: extra)
        try await server.start()
        return server
    }

    private func start() async throws {
        try await startServer(["nginx", "-c", folder.file("nginx.conf"), "-p", folder.path])
    }

    /// Restarts it at the same ports, with other keys and certificates in the same files.
    package func renewCertificates() async throws {
        stopServer()
        certificates = try await TestCertificates(in: folder)
        try await start()
    }

    /// Restarts it at the same ports, with these texts as its certificate and its key.
    package func restart(certificate: String, key: String) async throws {
        stopServer()
        try Files.write(folder.file("server.pem"), certificate)
        try Files.write(folder.file("server.key"), key)
        try await start()
    }

    package func url(_ name: String) -> String { "http://127.0.0.1:\(port)/\(name)" }
    package func tlsURL(_ name: String) -> String { "https://localhost:\(tlsPort)/\(name)" }

    /// One line for each request: status, bytes, protocol, Range, If-Range, target.
    package var accessLog: [String] {
        ((try? Files.text(folder.file("access.log"))) ?? "").split(separator: "\n").map(String.init)
    }

    private func configure(tls: Bool, http: String, extra: String) async throws {
        mkdir(folder.file("www"), 0o755)
        var listen = "listen 127.0.0.1:\(port);"
        if tls {
            tlsPort = try ListeningSocket.freePort()
            let made = try await TestCertificates(in: folder)
            certificates = made
            listen += """
                 listen 127.0.0.1:\(tlsPort) ssl http2;
                 ssl_certificate \(made.certificate); ssl_certificate_key \(made.key);
                """
        }
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.file("tmp_" + $0));" }.joined(separator: " ")
        try Files.write(
            folder.file("nginx.conf"),
            """
            daemon off; worker_processes 1; pid \(folder.file("pid")); error_log \(folder.file("log")) warn;
            \(Requirements.isRoot ? "user root;" : "")
            events { worker_connections 512; }
            http {
              log_format plain '$status $body_bytes_sent $server_protocol "$http_range" "$http_if_range" $request_uri';
              access_log \(folder.file("access.log")) plain;
              \(temporary)
              \(http)
              sendfile on; default_type application/octet-stream;
              server { \(listen) server_name localhost; root \(folder.file("www")); \(extra) }
            }
            """)
    }
}

/// Apache with Digest and Basic authentication for user `reader`, password `secret word`.
package final class Apache: ServerProcess, @unchecked Sendable {
    package static let user = "reader"
    package static let password = "secret word"

    package static func start() async throws -> Apache {
        let server = try Apache()
        try await server.configure()
        try await server.startServer(["apache2", "-X", "-f", server.folder.file("apache.conf")])
        return server
    }

    package func digestURL(_ name: String) -> String { "http://127.0.0.1:\(port)/digest/\(name)" }
    package func basicURL(_ name: String) -> String { "http://127.0.0.1:\(port)/basic/\(name)" }

    /// The URL of a file in the WebDAV folder `dav`, which requires Digest.
    package func davURL(_ name: String) -> String { "http://127.0.0.1:\(port)/dav/\(name)" }

    /// The status of each request, and the bytes that it brought, including its header.
    package var traffic: [(status: Int, received: Int)] {
        ((try? Files.text(folder.file("access.log"))) ?? "").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").compactMap { Int($0) }
            return words.count == 2 ? (words[0], words[1]) : nil
        }
    }

    /// The first lines of a configuration: what every Apache of the tests has.
    /// - Parameters:
    ///   - modules: besides those for files, WebDAV and rules of access.
    ///   - format: of the access log.
    static func beginning(in folder: TemporaryFolder, _ port: UInt16, modules: [String], logging format: String)
        -> String
    {
        let common = ["mpm_event", "authn_core", "authz_core", "authz_user", "alias", "dir", "mime", "dav", "dav_fs"]
        let loading = (common + modules).map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
        return """
            ServerRoot \(folder.path)
            DefaultRuntimeDir \(folder.path)
            PidFile \(folder.file("pid"))
            ServerName localhost
            Listen 127.0.0.1:\(port)
            ErrorLog \(folder.file("log"))
            \(loading.joined(separator: "\n"))
            \(Requirements.isRoot ? "User www-data\nGroup www-data" : "")
            TypesConfig /dev/null
            LogFormat "\(format)" traffic
            CustomLog \(folder.file("access.log")) traffic
            DavLockDB \(folder.file("locks/db"))
            """
    }

    private func configure() async throws {
        mkdir(folder.file("www"), 0o755)
        for name in ["dav", "locks"] {
            mkdir(folder.file(name), 0o755)
            if Requirements.isRoot, let entry = getpwnam("www-data") {
                chown(folder.file(name), entry.pointee.pw_uid, entry.pointee.pw_gid)
            }
        }
        // htdigest(1) asks on a terminal. Its file is a single line that is easy to make.
        let digest = try await Program.run([
            "sh", "-c", "printf '%s' '\(Self.user):files:\(Self.password)' | md5sum | cut -d' ' -f1",
        ])
        try Files.write(
            folder.file("digest"), "\(Self.user):files:\(digest.output.prefix(while: \.isHexDigit))\n")
        try await Program.require(["htpasswd", "-bcm", folder.file("basic"), Self.user, Self.password])
        let beginning = Self.beginning(
            in: folder, port, modules: ["authn_file", "auth_digest", "auth_basic"], logging: "%>s %I")
        try Files.write(
            folder.file("apache.conf"),
            """
            \(beginning)
            Alias /digest \(folder.file("www"))
            Alias /basic \(folder.file("www"))
            Alias /dav \(folder.file("dav"))
            <Location /dav>
              Dav On
            </Location>
            <LocationMatch "^/(digest|dav)/">
              AuthType Digest
              AuthName files
              AuthDigestProvider file
              AuthUserFile \(folder.file("digest"))
              Require valid-user
            </LocationMatch>
            <Location /basic>
              AuthType Basic
              AuthName files
              AuthUserFile \(folder.file("basic"))
              Require valid-user
            </Location>
            """)
    }
}
