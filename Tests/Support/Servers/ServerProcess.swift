import Glibc

/// A real server, started for a test on a free port of the loopback, with its own configuration and folder.
package class ServerProcess: @unchecked Sendable {
    package let folder: TemporaryFolder
    package let port: UInt16
    private var program: Program?

    init(port: UInt16? = nil) throws {
        folder = try TemporaryFolder()
        // Servers that drop their privileges must be able to enter.
        chmod(folder.path, 0o755)
        self.port = try port ?? ListeningSocket.freePort()
    }

    deinit { stopServer() }

    /// The server's log, for messages.
    package var log: String { (try? Files.text(folder.file("log"))) ?? "" }

    /// The finished requests, if the server logs them in the common log format.
    package var requests: [LoggedRequest] { log.split(separator: "\n").compactMap { LoggedRequest(line: $0) } }

    /// Writes a file below the folder that the server serves, and returns its path.
    @discardableResult
    package func publish(_ name: String, _ content: Content) throws -> String {
        try publish(name, bytes: content.bytes)
    }

    @discardableResult
    package func publish(_ name: String, bytes: [UInt8]) throws -> String {
        mkdir(folder.file("www"), 0o755)
        let path = folder.file("www/" + name)
        try Files.write(path, bytes)
        return path
    }

    func startServer(_ argv: [String], environment: [String: String] = Program.plainEnvironment) async throws {
        let program = try Program(argv, environment: environment, output: folder.file("log"))
        self.program = program
        let answers = await eventually(within: 20) { Self.accepts(port) || !program.isRunning }
        guard answers, program.isRunning else {
            throw SupportError("\(argv.joined(separator: " ")) does not listen on \(port): \(log)")
        }
    }

    /// Asks the server to end, so that it removes what it keeps outside its folder. Kills it after two seconds.
    package func stopServer() {
        program?.signal(SIGTERM)
        for _ in 0..<1000 where program?.isRunning == true { usleep(2000) }
        program = nil
    }

    /// Tells whether something accepts connections there.
    package static func accepts(_ port: UInt16) -> Bool {
        guard let descriptor = try? PlainSocket.connect(to: port) else { return false }
        close(descriptor)
        return true
    }
}

/// One line of an access log: `… "METHOD TARGET HTTP/1.1" STATUS …`.
package struct LoggedRequest: Sendable, Equatable {
    package var method: String
    package var target: String
    package var status: Int

    /// nil for any other line.
    init?(line: some StringProtocol) {
        let fields = line.split(separator: "\"", omittingEmptySubsequences: false)
        guard fields.count >= 3 else { return nil }
        let words = fields[1].split(separator: " ")
        guard words.count == 3, words[2].hasPrefix("HTTP/"),
            let status = fields[2].split(separator: " ").first.flatMap({ Int($0) })
        else { return nil }
        // Some servers colour the lines of failures.
        method = String(words[0].drop { !$0.isUppercase })
        target = String(words[1])
        self.status = status
    }
}

/// A certificate authority for one test, and its server certificate for localhost, 127.0.0.1 and relays.
package struct TestCertificates: Sendable {
    package let authority: String
    package let certificate: String
    package let key: String

    package init(in folder: TemporaryFolder) async throws {
        authority = folder.file("ca.pem")
        certificate = folder.file("server.pem")
        key = folder.file("server.key")
        let authorityKey = folder.file("ca.key")
        let request = folder.file("server.csr")
        try Files.write(
            folder.file("san"),
            "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:\(UploadRelay.host)\nbasicConstraints=CA:FALSE\n")
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        try await Program.require(
            ["openssl", "req", "-x509"] + newKey + [
                "-keyout", authorityKey, "-out", authority, "-days", "30", "-subj", "/CN=Test authority",
            ])
        try await Program.require(
            ["openssl", "req"] + newKey + ["-keyout", key, "-out", request, "-subj", "/CN=localhost"])
        try await Program.require([
            "openssl", "x509", "-req", "-in", request, "-CA", authority, "-CAkey", authorityKey, "-CAcreateserial",
            "-out", certificate, "-days", "30", "-extfile", folder.file("san"),
        ])
    }
}
