import Glibc

/// vsftpd for anonymous reading, and for writing below `incoming`. It needs root, because vsftpd does.
package final class FTPServer: ServerProcess, @unchecked Sendable {
    /// Set if TLS is used from the first byte (ftps).
    package private(set) var certificates: TestCertificates?
    /// The control port and the data ports.
    package private(set) var ports: [UInt16] = []

    /// - Parameter dataPorts: how many data ports it may use.
    package static func start(tls: Bool = false, dataPorts: UInt16 = 200) async throws -> FTPServer {
        let server = try FTPServer()
        if tls { server.certificates = try await TestCertificates(in: server.folder) }
        mkdir(server.folder.file("www"), 0o755)
        mkdir(server.folder.file("empty"), 0o755)
        mkdir(server.folder.file("www/incoming"), 0o755)
        if let entry = getpwnam("daemon") {
            chown(server.folder.file("www/incoming"), entry.pointee.pw_uid, entry.pointee.pw_gid)
        }
        let passive = try ListeningSocket.freePorts(dataPorts)
        server.ports = [server.port] + Array(passive)
        try Files.write(
            server.folder.file("vsftpd.conf"),
            """
            listen=YES
            listen_address=127.0.0.1
            listen_port=\(server.port)
            background=NO
            anonymous_enable=YES
            write_enable=YES
            anon_upload_enable=YES
            anon_mkdir_write_enable=YES
            anon_other_write_enable=YES
            anon_umask=022
            local_enable=NO
            no_anon_password=YES
            anon_root=\(server.folder.file("www"))
            ftp_username=daemon
            secure_chroot_dir=\(server.folder.file("empty"))
            pasv_min_port=\(passive.lowerBound)
            pasv_max_port=\(passive.upperBound)
            pasv_address=127.0.0.1
            seccomp_sandbox=NO
            xferlog_enable=YES
            vsftpd_log_file=\(server.folder.file("log"))
            log_ftp_protocol=YES
            \(server.encryption)

            """)
        chown(server.folder.file("vsftpd.conf"), 0, 0)
        try await server.startServer(["vsftpd", server.folder.file("vsftpd.conf")])
        return server
    }

    package func url(_ name: String) -> String { url(name, host: "127.0.0.1") }

    package func url(_ name: String, host: String) -> String {
        "\(certificates == nil ? "ftp" : "ftps")://\(host):\(port)/\(name)"
    }

    private var encryption: String {
        guard let certificates else { return "ssl_enable=NO" }
        return """
            ssl_enable=YES
            implicit_ssl=YES
            allow_anon_ssl=YES
            force_anon_data_ssl=YES
            force_anon_logins_ssl=YES
            require_ssl_reuse=NO
            rsa_cert_file=\(certificates.certificate)
            rsa_private_key_file=\(certificates.key)
            """
    }

    /// The bytes of each ended upload, complete or cut, from the server's log.
    package var uploads: [Int] {
        log.split(separator: "\n").filter { $0.contains(" UPLOAD: Client") }.compactMap { line in
            line.split(separator: ", ").first { $0.hasSuffix(" bytes") }.flatMap { Int($0.dropLast(6)) }
        }
    }
}

/// sshd with sftp for the user who runs the test, with a key.
package final class SFTPServer: ServerProcess, @unchecked Sendable {
    /// The home folder for the daemon under test: `.ssh` has the key, and the server in known_hosts.
    package var home: String { folder.file("home") }

    /// - Parameter isRecording: makes the server log what it receives; see `uploads`.
    package static func start(isRecording: Bool = false) async throws -> SFTPServer {
        let server = try SFTPServer()
        try await server.configure(isRecording)
        try await server.startServer(["/usr/sbin/sshd", "-D", "-e", "-f", server.folder.file("sshd.conf")])
        return server
    }

    package func url(_ name: String) -> String { url(name, host: "127.0.0.1") }

    package func url(_ name: String, host: String) -> String {
        "sftp://\(Self.userName)@\(host):\(port)\(folder.file("www"))/\(name)"
    }

    package static var userName: String {
        guard let entry = getpwuid(geteuid()), let name = entry.pointee.pw_name else { return "root" }
        return String(cString: name)
    }

    /// The bytes written in each ended session, complete or cut, from the server's log.
    package var uploads: [Int] {
        ((try? Files.text(folder.file("sessions"))) ?? "").split(whereSeparator: \.isNewline).compactMap { line in
            line.contains("close \"") ? line.split(separator: " ").last.flatMap { Int($0) } : nil
        }
    }

    /// Removes the server from its clients' known hosts.
    package func forgetHost() { unlink(home + "/.ssh/known_hosts") }

    private func configure(_ isRecording: Bool) async throws {
        // sshd passes the command to a shell.
        let subsystem =
            isRecording ? "/usr/lib/openssh/sftp-server -e -l INFO 2>>\(folder.file("sessions"))" : "internal-sftp"
        mkdir("/run/sshd", 0o755)
        mkdir(folder.file("www"), 0o755)
        mkdir(home, 0o700)
        mkdir(home + "/.ssh", 0o700)
        for key in [folder.file("host_key"), home + "/.ssh/id_ed25519"] {
            try await Program.require(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
        }
        let hostKey = try Files.text(folder.file("host_key.pub")).split(separator: " ").prefix(2).joined(separator: " ")
        let hosts = "[127.0.0.1]:\(port),[\(UploadRelay.host)]:\(port)"
        try Files.write(home + "/.ssh/known_hosts", "\(hosts) \(hostKey)\n", mode: 0o600)
        try Files.write(folder.file("authorized"), try Files.text(home + "/.ssh/id_ed25519.pub"), mode: 0o600)
        try Files.write(
            folder.file("sshd.conf"),
            """
            ListenAddress 127.0.0.1
            Port \(port)
            HostKey \(folder.file("host_key"))
            AuthorizedKeysFile \(folder.file("authorized"))
            PidFile \(folder.file("pid"))
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            PermitRootLogin prohibit-password
            Subsystem sftp \(subsystem)

            """)
    }
}

/// squid as an HTTP proxy, with CONNECT to any port, for user `proxy`, password `secret`.
package final class Squid: ServerProcess, @unchecked Sendable {
    package static func start() async throws -> Squid {
        let server = try Squid()
        try await Program.require(["htpasswd", "-bcm", server.folder.file("users"), "proxy", "secret"])
        let account = Requirements.isRoot ? "cache_effective_user proxy" : ""
        try Files.write(
            server.folder.file("squid.conf"),
            """
            http_port 127.0.0.1:\(server.port)
            pid_filename none
            cache deny all
            access_log stdio:\(server.folder.file("access.log"))
            cache_log \(server.folder.file("log"))
            coredump_dir \(server.folder.path)
            auth_param basic program /usr/lib/squid/basic_ncsa_auth \(server.folder.file("users"))
            auth_param basic realm proxy
            acl known proxy_auth REQUIRED
            http_access allow known
            http_access deny all
            shutdown_lifetime 0 seconds
            \(account)

            """)
        // squid writes its logs as its own user.
        chmod(server.folder.path, 0o777)
        // Its shared memory is named after the service, so two squids with one name would disturb each other.
        try await server.startServer(["squid", "-N", "-n", "dld\(server.port)", "-f", server.folder.file("squid.conf")])
        return server
    }

    package func url(password: String = "secret") -> String { "http://proxy:\(password)@127.0.0.1:\(port)" }

    package var accessLog: String { (try? Files.text(folder.file("access.log"))) ?? "" }
}

/// microsocks, a SOCKS5 proxy for user `socks`, password `secret`.
package final class Microsocks: ServerProcess, @unchecked Sendable {
    package static func start() async throws -> Microsocks {
        let server = try Microsocks()
        try await server.startServer([
            "microsocks", "-i", "127.0.0.1", "-p", "\(server.port)", "-u", "socks", "-P", "secret",
        ])
        return server
    }

    package func url(scheme: String = "socks5h", password: String = "secret") -> String {
        "\(scheme)://socks:\(password)@127.0.0.1:\(port)"
    }
}
