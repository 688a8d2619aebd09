import ArgumentParser
import TransferModel
import TransferRPC

struct UpdateCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change tasks, including failed and cancelled ones.",
        discussion: """
            With a new URL, mirrors, headers, credentials, proxy, interface or checksum, a running or waiting task starts \
            another attempt at once; use 'retry' for one that failed or was cancelled. It resumes from its bytes if the server \
            proves that it has the same version.

            -o and -d change the destination; the partial file moves there.

            EXAMPLES:
              dlctl update 7 --url 'https://example.org/file.iso?signature=new' && dlctl retry 7
              dlctl update 7 -d /mnt/large
              dlctl update 3-7 12 --limit 500k
            """)

    @Argument(help: .init("Tasks by id, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument]

    @Option("Download from here instead.", "url")
    var url: String?

    @Option(
        "s3Multipart: JSON file with newly signed partURLs, partSize, completeURL and abortURL.", "file",
        completion: .file())
    var s3: String?

    @Option("Another URL of the same file; replaces all mirrors of the task, '' removes them.", "url")
    var mirror: [String] = []

    @Option("Save as this file.", "file", short: "o", long: "output", completion: .file())
    var output: String?

    @Option(
        "Save into this folder; the file keeps its name.", "dir", short: "d", long: "directory", completion: .directory)
    var directory: String?

    @Option("What to do if the file exists.", "policy")
    var onConflict: ConflictPolicy?

    @Option("What the file must hash to: an algorithm, a colon, the value in hex.", "alg:hex")
    var checksum: Checksum?

    @Option("http, https, socks5 or socks5h proxy, or none.", "url")
    var proxy: String?

    @Option("Network device, or an address that one has; nothing leaves by another device.", "device")
    var interface: String?

    @Option("Trust the certificates in this PEM file.", "file", completion: .file())
    var caFile: String?

    @Option("Place in the queue, or a number from 0 to 1.", "priority")
    var priority: TaskPriority?

    @Option("Bytes per second: 500k, 2M, none.", "rate")
    var limit: ByteRate?

    @Option(
        "A header 'Name: value', or @FILE with one per line; replaces all headers of the task, '' removes them.",
        "header", short: "H")
    var header: [String] = []

    @Option("A note.", "text")
    var description: String?

    @Option(
        "Something to keep with the task, for programs; replaces all attributes of the task, '' removes them.",
        "name=value")
    var attribute: [String] = []

    @Option("Start at this time: 22:30, +2h, now, or 2026-01-31T08:00:00Z.", "time")
    var at: Timestamp?

    @Option("Fail if not done by this time.", "time")
    var deadline: Timestamp?

    @Option(
        "Position among tasks of its priority: first, last or a number.", "position",
        discussion: "First and last also apply to tasks added later.")
    var position: QueuePosition?

    @OptionGroup(title: "Credentials (replace all of the task's credentials)") var credentials: CredentialOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        let given: [Any?] = [
            url, output, directory, onConflict, checksum, proxy, interface, caFile, priority, limit, description, at,
            deadline,
            position, s3,
        ]
        if header.isEmpty, mirror.isEmpty, attribute.isEmpty, !credentials.areGiven, given.allSatisfy({ $0 == nil }) {
            throw ValidationError("Say what to change.")
        }
        for text in attribute where !text.isEmpty && Assignment(text) == nil {
            throw ValidationError("--attribute: '\(Printable.text(text, limit: 40))' is not NAME=VALUE.")
        }
        for text in header where !text.isEmpty && !HeaderArgument.isAcceptable(text) {
            throw ValidationError(HeaderArgument.complaint(text))
        }
        if TaskChoice(ids).single == nil, output != nil || checksum != nil || url != nil || s3 != nil || !mirror.isEmpty
        {
            throw ValidationError("--url, --s3, --mirror, -o and --checksum apply to one file; name one task.")
        }
        if output == "-" {
            throw ValidationError("-o needs a file, not standard output; for a file of that name use -o ./-.")
        }
        if let output, output.isEmpty || output.hasSuffix("/") {
            throw ValidationError("-o needs a file; '\(Printable.text(output, limit: 60))' is a folder, use -d.")
        }
    }

    func run(_ session: CommandSession) async throws {
        let template = try change(session)
        let console = session.console
        try await session.withDaemon { client in
            try await ChosenTasks(choice: TaskChoice(ids), client: client, console: console).forEach { id in
                var change = template
                change.id = id
                let task = try await client.call(Methods.updateTask, change)
                if console.json { return console.value(task) }
                if !console.quiet { console.line("updated \(task.id)") }
            }
        }
    }

    /// The change, without the id of the task.
    private func change(_ session: CommandSession) throws -> UpdateTask {
        var change = UpdateTask(id: TaskID(0))
        change.url = url
        change.s3 = try s3.map(S3Upload.read)
        change.mirrors = mirror.isEmpty ? nil : mirror.filter { !$0.isEmpty }
        change.destination = try destination(session)
        change.conflictPolicy = onConflict
        change.checksum = checksum
        change.proxy = proxy
        change.interface = interface
        change.caFile = caFile.map(session.absolute)
        change.priority = priority
        change.rateLimit = limit
        let given = Secrets(session: session)
        change.headers = header.isEmpty ? nil : try given.headers(header)
        change.description = description
        change.attributes = attribute.isEmpty ? nil : Assignment.pairs(attribute) ?? [:]
        change.earliestBeginAt = at
        change.deadlineAt = deadline
        change.position = position
        var secrets = TaskSpec()
        try given.apply(credentials, to: &secrets)
        change.username = secrets.username
        change.password = secrets.password
        change.bearer = secrets.bearer
        change.netrc = secrets.netrc
        return change
    }

    private func destination(_ session: CommandSession) throws -> Destination? {
        for (option, path) in [("-o", output), ("-d", directory)] {
            if let path { try PathText.check(path, of: option, in: session.currentFolder) }
        }
        if let output {
            let folder = directory.map(session.absolute) ?? session.currentFolder
            return Destination(path: PathText.absolute(output, in: folder))
        }
        return directory.map { Destination(directory: session.absolute($0)) }
    }
}

extension QueuePosition: ExpressibleByArgument {
    public init?(argument: String) {
        switch argument {
        case "first": self = .first
        case "last": self = .last
        default:
            guard let number = Double(argument), number.isFinite else { return nil }
            self = .at(number)
        }
    }
}
