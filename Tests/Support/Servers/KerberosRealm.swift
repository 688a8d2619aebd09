import Glibc

/// A Kerberos realm: a server of its own for the users `anna` and `ben`, and for HTTP at 127.0.0.1 and localhost.
///
/// Two more realms are known: one whose server says nothing, and one whose server is not there.
package final class KerberosRealm: ServerProcess, @unchecked Sendable {
    package static let name = "REALM.TEST"
    package static let silent = "SILENT.TEST"
    package static let absent = "ABSENT.TEST"
    package static let user = "anna"
    package static let password = "Zq7right wordqZ"
    /// A user with another password than `user`.
    package static let other = "ben"
    package static let otherPassword = "Zq7other wordqZ"

    /// Takes connections, and nobody reads from them.
    private let silence: ListeningSocket

    package static func start() async throws -> KerberosRealm {
        let realm = try KerberosRealm(silence: ListeningSocket.onFreePort())
        try await realm.configure()
        try await realm.startServer(["krb5kdc", "-n"], environment: realm.serverEnvironment)
        return realm
    }

    private init(silence: ListeningSocket) throws {
        self.silence = silence
        try super.init()
    }

    package var keytab: String { folder.file("keytab") }

    /// Of programs that know the realm.
    /// - Parameter cache: file with tickets; nil for none.
    package func environment(cache: String? = nil) -> [String: String] {
        ["KRB5_CONFIG": folder.file("krb5.conf"), "KRB5CCNAME": "FILE:" + (cache ?? folder.file("no-tickets"))]
    }

    private var serverEnvironment: [String: String] {
        var variables = Program.plainEnvironment.merging(environment()) { $1 }
        variables["KRB5_KDC_PROFILE"] = folder.file("kdc.conf")
        return variables
    }

    /// Gets tickets of `user`.
    /// - Returns: the file that has them.
    package func login() async throws -> String {
        let cache = folder.file("tickets")
        try Files.write(folder.file("password"), Self.password + "\n", mode: 0o600)
        let variables = Program.plainEnvironment.merging(environment(cache: cache)) { $1 }
        let script = "kinit \(Self.user) < \(folder.file("password"))"
        let (status, output) = try await Program.run(["sh", "-c", script], environment: variables)
        guard status == 0 else { throw SupportError("kinit: \(output) \(log)") }
        return cache
    }

    private func configure() async throws {
        try Files.write(
            folder.file("krb5.conf"),
            """
            [libdefaults]
              default_realm = \(Self.name)
              dns_canonicalize_hostname = false
              rdns = false
              dns_lookup_kdc = false
              dns_lookup_realm = false
            [realms]
              \(Self.name) = { 
                kdc = 127.0.0.1:\(port)
              }
              \(Self.silent) = {
                kdc = 127.0.0.1:\(silence.port)
              }
              \(Self.absent) = {
                kdc = 127.0.0.1:1
              }
            """)
        try Files.write(
            folder.file("kdc.conf"),
            """
            [kdcdefaults]
              kdc_listen = 127.0.0.1:\(port)
              kdc_tcp_listen = 127.0.0.1:\(port)
            [realms]
              \(Self.name) = {
                database_name = \(folder.file("principal"))
                key_stash_file = \(folder.file("stash"))
              }
            [logging]
              kdc = STDERR
            """)
        try await run(["kdb5_util", "create", "-s", "-r", Self.name, "-P", "master"])
        for (user, password) in [(Self.user, Self.password), (Self.other, Self.otherPassword)] {
            try await run(["kadmin.local", "-q", "addprinc -pw \"\(password)\" +requires_preauth \(user)"])
        }
        for host in ["127.0.0.1", "localhost"] {
            try await run(["kadmin.local", "-q", "addprinc -randkey HTTP/\(host)"])
            try await run(["kadmin.local", "-q", "ktadd -k \(keytab) HTTP/\(host)"])
        }
        // Apache gives its rights away before it looks.
        chmod(keytab, 0o644)
    }

    private func run(_ argv: [String]) async throws {
        let (status, output) = try await Program.run(argv, environment: serverEnvironment)
        guard status == 0 else { throw SupportError("\(argv.joined(separator: " ")): \(output)") }
    }
}

/// Apache with mod_auth_gssapi: a server for users of a realm, and a proxy for them.
package final class KerberosApache: ServerProcess, @unchecked Sendable {
    package static func start(in realm: KerberosRealm) async throws -> KerberosApache {
        let server = try KerberosApache()
        try server.configure(realm)
        try await server.startServer(
            ["apache2", "-X", "-f", server.folder.file("apache.conf")],
            environment: Program.plainEnvironment.merging(realm.environment()) { $1 })
        return server
    }

    /// Only Negotiate is offered.
    package func url(_ name: String = "file", host: String = "127.0.0.1") -> String {
        "http://\(host):\(port)/negotiate/\(name)"
    }

    /// Basic is offered too, for the same passwords.
    package func bothURL(_ name: String = "file") -> String { "http://127.0.0.1:\(port)/both/\(name)" }

    /// WebDAV in the folder `dav`; only Negotiate is offered.
    package func davURL(_ name: String) -> String { "http://127.0.0.1:\(port)/dav/\(name)" }

    /// Wants Negotiate of those who use it as a proxy, and serves without it.
    package var proxy: String { "http://127.0.0.1:\(port)" }
    package func openURL(_ name: String = "file") -> String { "http://127.0.0.1:\(port)/open/\(name)" }

    /// Each request: its status, its user's name in the realm or `-`, the scheme of its Authorization or `-`, its bytes.
    package var traffic: [(status: Int, user: String, scheme: String, received: Int)] {
        ((try? Files.text(folder.file("access.log"))) ?? "").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 4, let status = Int(words[0]), let received = Int(words[2]) else { return nil }
            return (status, words[1], words[3], received)
        }
    }

    private func configure(_ realm: KerberosRealm) throws {
        mkdir(folder.file("www"), 0o755)
        for name in ["dav", "locks"] {
            mkdir(folder.file(name), 0o755)
            if Requirements.isRoot, let entry = getpwnam("www-data") {
                chown(folder.file(name), entry.pointee.pw_uid, entry.pointee.pw_gid)
            }
        }
        let beginning = Apache.beginning(
            in: folder, port, modules: ["auth_gssapi", "proxy", "proxy_http", "proxy_connect"],
            logging: "%>s %u %I %{Authorization}i")
        let negotiate = """
            AuthType GSSAPI
            AuthName realm
            GssapiCredStore keytab:\(realm.keytab)
            Require valid-user
            """
        try Files.write(
            folder.file("apache.conf"),
            """
            \(beginning)
            Alias /negotiate \(folder.file("www"))
            Alias /both \(folder.file("www"))
            Alias /open \(folder.file("www"))
            Alias /dav \(folder.file("dav"))
            ProxyRequests On
            AllowCONNECT 1-65535
            <Proxy "*">
              \(negotiate)
            </Proxy>
            <LocationMatch "^/(negotiate|dav)/">
              \(negotiate)
            </LocationMatch>
            <Location /dav>
              Dav On
            </Location>
            <Location /both>
              \(negotiate)
              GssapiBasicAuth On
            </Location>
            """)
    }
}
