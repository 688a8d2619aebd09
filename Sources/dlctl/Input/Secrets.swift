import FoundationEssentials
import Glibc
import TransferModel

/// Reads the secrets that options only refer to: from files, standard input, the environment or a prompt.
struct Secrets {
    var session: CommandSession

    func apply(_ options: RequestOptions, to spec: inout TaskSpec) throws {
        var headers = try self.headers(options.header)
        if let agent = options.userAgent { headers.append(HeaderField("User-Agent", agent)) }
        if let referer = options.referer { headers.append(HeaderField("Referer", referer)) }
        if !headers.isEmpty { spec.headers = headers }
        try apply(options.credentials, to: &spec)
        spec.proxy = try options.proxy ?? options.proxyFile.map(firstLine)
        spec.interface = options.interface
        spec.caFile = options.caFile.map(session.absolute)
        if let path = options.cert {
            var certificate = ClientCertificate(certificate: session.absolute(path))
            certificate.key = options.key.map(session.absolute)
            spec.clientCertificate = certificate
        }
        spec.tlsMinimumVersion = options.tlsMin
        spec.httpVersion = options.httpVersion
        if options.acceptAnyStatus { spec.acceptsAnyStatus = true }
        options.conditions.apply(to: &spec)
    }

    /// The fields of `-H`; an empty text is ignored.
    func headers(_ texts: [String]) throws -> [HeaderField] {
        var fields: [HeaderField] = []
        for text in texts {
            if text.hasPrefix("@") {
                fields += try headerFile(String(text.dropFirst()))
            } else if let field = HeaderArgument(argument: text)?.field {
                fields.append(field)
            }
        }
        return fields
    }

    private func headerFile(_ path: String) throws -> [HeaderField] {
        let lines = try text(of: path).split(whereSeparator: \.isNewline)
        return try lines.enumerated().map { number, line in
            guard let field = HeaderArgument(argument: String(line))?.field else {
                throw CommandFailure.usage("\(path):\(number + 1): not 'Name: value'")
            }
            return field
        }
    }

    func apply(_ options: CredentialOptions, to spec: inout TaskSpec) throws {
        if let user = options.user {
            let given = try login(user, fromStdin: options.passwordStdin, fromFile: options.passwordFile)
            (spec.username, spec.password) = (given.user, given.password)
        }
        if let path = options.bearerFile { spec.bearer = try firstLine(path) }
        if let name = options.bearerEnv {
            guard let token = session.environment[name], !token.isEmpty else {
                throw CommandFailure.usage("--bearer-env: \(name) is not set")
            }
            spec.bearer = token
        }
        if options.netrc {
            guard let home = session.environment["HOME"] else { throw CommandFailure.usage("--netrc: HOME is not set") }
            spec.netrc = session.environment["NETRC"] ?? home + "/.netrc"
        }
        if let path = options.netrcFile { spec.netrc = session.absolute(path) }
    }

    /// - Parameter fromStdin: the first line of standard input is the password. Without this and `fromFile`, the user
    ///   is asked.
    func login(
        _ user: String, fromStdin: Bool, fromFile path: String?
    ) throws -> (user: String, password: String) {
        // curl's form. It shows the password to every user of the machine, so it is accepted but not recommended.
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if parts.count == 2 { return (parts[0], parts[1]) }
        if let path = fromStdin ? "-" : path { return (user, try firstLine(path)) }
        return (user, try PasswordPrompt.ask("Password of \(Printable.text(user, limit: 60)): "))
    }

    /// Reads the pass phrase of a key, as `login` reads a password; nil if the key needs none (RFC 7468 section 11, RFC
    /// 1421).
    func passPhrase(of key: String, fromStdin: Bool, fromFile path: String?) throws -> String? {
        if let path = fromStdin ? "-" : path { return try firstLine(path) }
        guard try text(of: key).contains("ENCRYPTED") else { return nil }
        return try PasswordPrompt.ask("Pass phrase of \(Printable.text(key, limit: 60)): ")
    }

    private func text(of path: String) throws -> String {
        String(decoding: try InputFile.read(path), as: UTF8.self)
    }

    private func firstLine(_ path: String) throws -> String {
        guard let line = try text(of: path).split(whereSeparator: \.isNewline).first else {
            throw CommandFailure.usage("\(path == "-" ? "standard input" : path) is empty")
        }
        return String(line)
    }
}

/// Reads whole small files that options name.
enum InputFile {
    static let limit = 64 << 20

    /// - Parameter path: `-` is standard input.
    /// - Throws: `CommandFailure.local` if it cannot be read, `.usage` if it is too large.
    static func read(_ path: String) throws -> [UInt8] {
        let name = path == "-" ? "standard input" : path
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(name) }
        defer { if path != "-" { close(descriptor) } }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return content }
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw unreadable(name) }
            content += buffer.prefix(count)
            if content.count > limit { throw CommandFailure.usage("\(name) is over \(limit >> 20) MiB") }
        }
    }

    private static func unreadable(_ name: String) -> CommandFailure {
        CommandFailure.local("\(name) cannot be read: \(String(cString: strerror(errno)))")
    }
}
