import ArgumentParser
import TransferModel

/// Options that only `add` has: the file, its destination and how it is fetched.
struct SavingOptions: ParsableArguments {
    @Option(
        "Save as this file; #1 in it is the value of the URL's first [] or {}. Once only.", "file", short: "o",
        long: "output", completion: .file())
    var outputs: [String] = []

    @Option(
        "Save into this folder, created if missing; default: the session's, else the current one.", "dir", short: "d",
        long: "directory", completion: .directory)
    var directory: String?

    @Option("What to do if the file exists.", "policy")
    var onConflict: ConflictPolicy?

    @Option(
        "What the file must hash to: md5, sha-1, sha-256, sha-384 or sha-512, a colon, the value in hex.", "alg:hex")
    var checksum: Checksum?

    @Option("Another URL of the same file; may be repeated.", "url")
    var mirror: [String] = []

    @Option(
        "Connections of each download, 1 to 64.", "n", short: "x",
        discussion: "Default: one, and up to 4 while each makes the download faster.")
    var connections: Int?

    @Flag(help: "Resume although the server never says which version its parts belong to; give --checksum as well.")
    var resumeUnproven = false

    @Flag(help: "Give the file the server's modification time.")
    var preserveTime = false

    @Option(
        "Resume a download from the file that 'cancel --resume-data' wrote; in another folder it starts over.", "file",
        completion: .file())
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
    @Option("Put the tasks into this session.", "session", short: "s", completion: .sessions)
    var session: String?

    @Option(
        "Place in the queue: low, normal, high, or a number from 0 to 1.", "priority",
        completion: .list(["low", "normal", "high"]))
    var priority: TaskPriority?

    @Option("Bytes per second of each task: 500k, 2M, none.", "rate")
    var limit: ByteRate?

    @Option("Start at this time: 22:30, +2h, or 2026-01-31T08:00:00Z.", "time")
    var at: Timestamp?

    @Option("Fail if not done by this time.", "time")
    var deadline: Timestamp?

    @Flag(help: "Add the tasks in the state paused.")
    var paused = false

    @Option("Failures in a row, without progress in between, after which a task fails; 0 = unlimited.", "n")
    var retry: Int?

    @Option("End an attempt after this long without a byte: 30s, 2m.", "duration")
    var timeout: Seconds?

    @Option("Fail after this much time in the queue and running: 12h, 7d.", "duration")
    var maxTime: Seconds?

    @Option("A note that 'list' and 'show' print.", "text")
    var description: String?

    @Option("A label; may be repeated.", "tag")
    var tag: [String] = []

    @Option("Something to keep with the tasks, for programs; may be repeated.", "name=value")
    var attribute: [String] = []

    @Option(
        "Makes adding idempotent: the same token within 24 hours gives the same task.", "token",
        discussion: "With several URLs the tokens are TOKEN/1, TOKEN/2, ...")
    var clientToken: String?

    func validate() throws {
        if let retry, retry < 0 { throw ValidationError("--retry: use 0 or more.") }
        for text in attribute where Assignment(text) == nil {
            throw ValidationError("--attribute: '\(Printable.text(text, limit: 40))' is not NAME=VALUE.")
        }
        if let deadline, deadline <= .now() { throw ValidationError("--deadline: that time has passed.") }
    }

    func apply(to spec: inout TaskSpec) {
        spec.priority = priority
        spec.rateLimit = limit
        spec.earliestBeginAt = at
        spec.deadlineAt = deadline
        if paused { spec.startPaused = true }
        if let retry {
            var policy = RetryPolicySpec()
            policy.attempts = retry
            spec.retry = policy
        }
        spec.timeoutIntervalForRequest = timeout
        spec.timeoutIntervalForResource = maxTime
        spec.description = description
        if !tag.isEmpty { spec.tags = tag }
        spec.attributes = Assignment.pairs(attribute)
    }
}

/// Options of `add`, `upload` and `fetch` for the request. No secret needs to be on the command line.
struct RequestOptions: ParsableArguments {
    @Option("A header 'Name: value', or @FILE with one per line; may be repeated.", "header", short: "H")
    var header: [String] = []

    @Option("User-Agent to send.", "name", short: "A")
    var userAgent: String?

    @Option("Referer to send.", "url")
    var referer: String?

    @OptionGroup var credentials: CredentialOptions

    @Option(
        "http, https, socks5 or socks5h proxy, or none.", "url",
        discussion: "Default: the session's, else that of the daemon's environment. The shell's is ignored.")
    var proxy: String?

    @Option("Read the proxy's URL from a file, in case it holds a password.", "file", completion: .file())
    var proxyFile: String?

    @Option("Network device, or an address that one has; nothing leaves by another device.", "device")
    var interface: String?

    @Option("Trust the certificates in this PEM file.", "file", completion: .file())
    var caFile: String?

    @Option("Client certificate (PEM).", "file", completion: .file())
    var cert: String?

    @Option("Key of the client certificate (PEM).", "file", completion: .file())
    var key: String?

    @Option("Lowest TLS version.", "version")
    var tlsMin: TLSVersion?

    @Option("HTTP version.", "version")
    var httpVersion: HTTPVersion?

    @Flag(
        help: "Accept every HTTP status: a task completes even with an error page, and is not tried again.")
    var acceptAnyStatus = false

    @OptionGroup var conditions: ConditionOptions

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
    @Option("User name for the server; dlctl asks for the password, or see below.", "name", short: "u")
    var user: String?

    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Option("Read the password from a file.", "file", completion: .file())
    var passwordFile: String?

    @Option("Read a bearer token from a file; - is standard input.", "file", completion: .file())
    var bearerFile: String?

    @Option("Take a bearer token from an environment variable.", "variable")
    var bearerEnv: String?

    @Flag(help: "Take user and password from ~/.netrc.")
    var netrc = false

    @Option("Take user and password from this netrc file.", "file", completion: .file())
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

/// Which conditions of the machine a new task waits out; for others, its session says.
struct ConditionOptions: ParsableArguments {
    @Flag(help: "Wait while the network is metered.")
    var notMetered = false

    @Flag(help: "Wait while the network is cellular.")
    var notCellular = false

    @Flag(help: "Wait while the setting lowDataMode is on.")
    var notLowData = false

    @Flag(help: "Wait while the network is metered or the machine runs on battery.")
    var discretionary = false

    @Flag(help: "Run on any network and on battery, whatever the session says.")
    var anyway = false

    func validate() throws {
        if anyway, notMetered || notCellular || notLowData || discretionary {
            throw ValidationError("--anyway allows what the other option forbids; use only one of them.")
        }
    }

    func apply(to spec: inout TaskSpec) {
        if notMetered { spec.allowsExpensiveNetworkAccess = false }
        if notCellular { spec.allowsCellularAccess = false }
        if notLowData { spec.allowsConstrainedNetworkAccess = false }
        if discretionary { spec.isDiscretionary = true }
        guard anyway else { return }
        (spec.allowsExpensiveNetworkAccess, spec.allowsCellularAccess) = (true, true)
        (spec.allowsConstrainedNetworkAccess, spec.isDiscretionary) = (true, false)
    }
}
