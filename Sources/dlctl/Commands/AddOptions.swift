import ArgumentParser
import TransferModel

/// Options that only `add` has: the file, its destination and how it is fetched.
struct SavingOptions: ParsableArguments {
    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")],
        help: ArgumentHelp(
            "Save as this file; #1 in it is the value of the URL's first [] or {}. Once only.", valueName: "file"),
        completion: .file())
    var outputs: [String] = []

    @Option(
        name: [.customShort("d", allowingJoined: true), .customLong("directory")],
        help: ArgumentHelp(
            "Save into this folder, created if missing; default: the session's, else the current one.", valueName: "dir"
        ),
        completion: .directory)
    var directory: String?

    @Option(help: ArgumentHelp("What to do if the file exists.", valueName: "policy"))
    var onConflict: ConflictPolicy?

    @Option(
        help: ArgumentHelp(
            "What the file must hash to: md5, sha-1, sha-256, sha-384 or sha-512, a colon, the value in hex.",
            valueName: "alg:hex"))
    var checksum: ChecksumArgument?

    @Option(help: ArgumentHelp("Another URL of the same file; may be repeated.", valueName: "url"))
    var mirror: [String] = []

    @Option(
        name: [.customShort("x", allowingJoined: true), .long],
        help: ArgumentHelp(
            "Connections of each download, 1 to 64.",
            discussion: "Default: one, and up to 4 while each makes the download faster.", valueName: "n"))
    var connections: Int?

    @Flag(help: "Resume although the server never says which version its parts belong to; give --checksum as well.")
    var resumeUnproven = false

    @Flag(help: "Give the file the server's modification time.")
    var preserveTime = false

    @Option(
        help: ArgumentHelp(
            "Resume a download from the file that 'cancel --resume-data' wrote; in another folder it starts over.",
            valueName: "file"), completion: .file())
    var resumeData: String?

    var output: String? { outputs.first }

    func validate() throws {
        if outputs.count > 1 {
            throw ValidationError("-o names one file; use dlctl add once for each file, or a list (-i) with out=.")
        }
        if let connections, !(1...64).contains(connections) {
            throw ValidationError("-x: use 1 to 64 connections.")
        }
    }
}

/// Options of `add`, `upload` and `fetch` that control when a task runs and how hard it tries.
struct SchedulingOptions: ParsableArguments {
    @Option(
        name: [.customShort("s", allowingJoined: true), .long],
        help: ArgumentHelp("Put the tasks into this session.", valueName: "session"),
        completion: .sessions)
    var session: String?

    @Option(
        help: ArgumentHelp("Place in the queue: low, normal, high, or a number from 0 to 1.", valueName: "priority"),
        completion: .list(["low", "normal", "high"]))
    var priority: TaskPriority?

    @Option(help: ArgumentHelp("Bytes per second of each task: 500k, 2M, none.", valueName: "rate"))
    var limit: RateArgument?

    @Option(help: ArgumentHelp("Start at this time: 22:30, +2h, or 2026-01-31T08:00:00Z.", valueName: "time"))
    var at: MomentArgument?

    @Option(help: ArgumentHelp("Fail if not done by this time.", valueName: "time"))
    var deadline: MomentArgument?

    @Flag(help: "Add the tasks in the state paused.")
    var paused = false

    @Option(
        help: ArgumentHelp(
            "Failures in a row, without progress in between, after which a task fails; 0 = unlimited.", valueName: "n"))
    var retry: Int?

    @Option(help: ArgumentHelp("End an attempt after this long without a byte: 30s, 2m.", valueName: "duration"))
    var timeout: DurationArgument?

    @Option(help: ArgumentHelp("Fail after this much time in the queue and running: 12h, 7d.", valueName: "duration"))
    var maxTime: DurationArgument?

    @Option(help: ArgumentHelp("A note that 'list' and 'show' print.", valueName: "text"))
    var description: String?

    @Option(help: ArgumentHelp("A label; may be repeated.", valueName: "tag"))
    var tag: [String] = []

    @Option(
        help: ArgumentHelp(
            "Makes adding idempotent: the same token within 24 hours gives the same task.",
            discussion: "With several URLs the tokens are TOKEN/1, TOKEN/2, ...", valueName: "token"))
    var clientToken: String?

    func validate() throws {
        if let retry, retry < 0 { throw ValidationError("--retry: use 0 or more.") }
        if let deadline, deadline.timestamp <= .now() { throw ValidationError("--deadline: that time has passed.") }
    }

    func apply(to spec: inout TaskSpec) {
        spec.priority = priority
        spec.rateLimit = limit?.rate
        spec.earliestBeginAt = at?.timestamp
        spec.deadlineAt = deadline?.timestamp
        if paused { spec.startPaused = true }
        if let retry {
            var policy = RetryPolicySpec()
            policy.attempts = retry
            spec.retry = policy
        }
        spec.timeoutIntervalForRequest = timeout?.seconds
        spec.timeoutIntervalForResource = maxTime?.seconds
        spec.description = description
        if !tag.isEmpty { spec.tags = tag }
    }
}

/// Options of `add`, `upload` and `fetch` for the request. No secret needs to be on the command line.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("H", allowingJoined: true), .long],
        help: ArgumentHelp("A header 'Name: value', or @FILE with one per line; may be repeated.", valueName: "header"))
    var header: [String] = []

    @Option(
        name: [.customShort("A", allowingJoined: true), .long],
        help: ArgumentHelp("User-Agent to send.", valueName: "name"))
    var userAgent: String?

    @Option(help: ArgumentHelp("Referer to send.", valueName: "url"))
    var referer: String?

    @OptionGroup var credentials: CredentialOptions

    @Option(
        help: ArgumentHelp(
            "http, https, socks5 or socks5h proxy, or none.",
            discussion: "Default: the session's, else that of the daemon's environment. The shell's is ignored.",
            valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp("Read the proxy's URL from a file, in case it holds a password.", valueName: "file"),
        completion: .file())
    var proxyFile: String?

    @Option(help: ArgumentHelp("Trust the certificates in this PEM file.", valueName: "file"), completion: .file())
    var caFile: String?

    @Option(help: ArgumentHelp("Client certificate (PEM).", valueName: "file"), completion: .file())
    var cert: String?

    @Option(help: ArgumentHelp("Key of the client certificate (PEM).", valueName: "file"), completion: .file())
    var key: String?

    @Option(help: ArgumentHelp("Lowest TLS version.", valueName: "version"))
    var tlsMin: TLSVersion?

    @Option(help: ArgumentHelp("HTTP version.", valueName: "version"))
    var httpVersion: HTTPVersion?

    @Flag(
        help: "Accept every HTTP status: a task completes even with an error page, and is not tried again.")
    var acceptAnyStatus = false

    func validate() throws {
        if proxy != nil, proxyFile != nil { throw ValidationError("Use only one of --proxy and --proxy-file.") }
        if key != nil, cert == nil { throw ValidationError("--key needs --cert.") }
        for text in header where !HeaderArgument.isAcceptable(text) {
            throw ValidationError(HeaderArgument.complaint(text))
        }
    }

    var readsStandardInput: Bool { credentials.readsStandardInput }
}

/// Credentials for the server. No secret needs to be on the command line.
struct CredentialOptions: ParsableArguments {
    @Option(
        name: [.customShort("u", allowingJoined: true), .long],
        help: ArgumentHelp("User name for the server; dlctl asks for the password, or see below.", valueName: "name"))
    var user: String?

    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Option(help: ArgumentHelp("Read the password from a file.", valueName: "file"), completion: .file())
    var passwordFile: String?

    @Option(
        help: ArgumentHelp("Read a bearer token from a file; - is standard input.", valueName: "file"),
        completion: .file())
    var bearerFile: String?

    @Option(help: ArgumentHelp("Take a bearer token from an environment variable.", valueName: "variable"))
    var bearerEnv: String?

    @Flag(help: "Take user and password from ~/.netrc.")
    var netrc = false

    @Option(help: ArgumentHelp("Take user and password from this netrc file.", valueName: "file"), completion: .file())
    var netrcFile: String?

    func validate() throws {
        let passwords = [passwordStdin, passwordFile != nil].count { $0 }
        if passwords > 0, user == nil { throw ValidationError("A password needs --user.") }
        if passwords > 1 { throw ValidationError("Use only one of --password-stdin and --password-file.") }
        if bearerFile != nil, bearerEnv != nil {
            throw ValidationError("Use only one of --bearer-file and --bearer-env.")
        }
        if netrc, netrcFile != nil { throw ValidationError("Use only one of --netrc and --netrc-file.") }
    }

    var readsStandardInput: Bool { passwordStdin || bearerFile == "-" }
    var areGiven: Bool { user != nil || bearerFile != nil || bearerEnv != nil || netrc || netrcFile != nil }
}
