import ArgumentParser
import FoundationEssentials
import TransferModel
import TransferRPC

struct FetchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Make a short request and print the body of the answer.",
        discussion: """
            The daemon makes the request and keeps the answer with the task. dlctl waits for the answer, and shows on \
            standard error what it is waiting for. Ctrl-C cancels the task and removes it. Given the id of an earlier \
            request, dlctl prints that answer again. For files use 'add'.

            Like curl, it tries once. With --retry N it gives up after N failures in a row without progress, and with \
            --retry 0 it tries until it works. A request that cannot start fails after ten minutes, unless --max-time, \
            --deadline, --retry or a session is given.

            -o replaces the file if it exists. The body of an error status is written like any other, to standard output \
            or to the file of -o, and the exit status is 1. --fail omits that body. The first 64 KiB of a long one are kept. On a terminal, control \
            characters become question marks; -o - writes them as they are.

            EXAMPLES:
              dlctl fetch https://example.org/status
              dlctl fetch -X PUT -H 'Content-Type: application/json' -d '{"on":true}' URL
              dlctl fetch -d @form.txt --retry 3 URL
              dlctl fetch -o logo.png https://example.org/logo.png
            """)

    @Argument(
        help: .init("The URL to request, or the id of an earlier request.", valueName: "url-or-id"), completion: .tasks)
    var url: String

    @Option("HTTP method; GET, or POST with -d.", "method", short: "X")
    var method: String?

    @Option("Body to send; @FILE sends a file, @- standard input.", "body", short: "d", completion: .file())
    var data: String?

    @Option(
        "Write the body to this file once it is complete; - is standard output, even for binary data.", "file",
        short: "o", long: "output", completion: .file())
    var output: String?

    @Flag(name: [.customShort("f"), .long], help: "Omit the body of an error status.")
    var fail = false

    @OptionGroup(title: "Scheduling") var scheduling: SchedulingOptions
    @OptionGroup(title: "Request") var request: RequestOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// How long a request is tried by default, because a user waits for it.
    static let patience: Seconds = 600

    func validate() throws {
        if data == "@-", request.readsStandardInput {
            throw ValidationError("Only one of the options can read standard input.")
        }
    }

    func run(_ session: CommandSession) async throws {
        if let id = TaskID(argument: url) { return try await deliver(id, session) }
        let spec = try spec(session)
        // A request may change something at its server, so it is not sent if its answer could not be written.
        if let output, output != "-" { try FetchedBody.requireWritable(session.absolute(output)) }
        let submission = Submission(specs: [spec], session: scheduling.session, waits: true)
        let client = try await session.connect()
        let head = try await client.head()
        let added = try await submission.send(over: client)
        guard let id = added.first?.id else { throw CommandFailure.local("the daemon added no task") }
        let plan = FollowPlan(tasks: [id], known: try await submission.known(added, client), after: head)
        var follower = session.follower(plan, of: client, endsWhenOver: true)
        follower.onInterrupt = {}
        do {
            let look: WaitingRemarks.Look = { id, then in
                Task { then(try? await client.call(Methods.getTask, .init(id: id))) }
            }
            _ = try await follower.run(client, display: WaitingRemarks(look: look) { session.console.remark($0) })
        } catch CommandFailure.interrupted {
            await client.close()
            await abandon(id, session)
            throw CommandFailure.interrupted
        }
        await client.close()
        try await deliver(id, session)
    }

    /// Prints how the request ended.
    private func deliver(_ id: TaskID, _ session: CommandSession) async throws {
        let console = session.console
        let task = try await session.call(Methods.getTask, .init(id: id))
        if console.json { console.value(task) }
        // The answer to a question has turned it into a download.
        if task.state == .completed, task.spec.kind == .download {
            let file = Printable.text(task.file ?? "")
            if output != nil {
                throw CommandFailure.local("task \(id) is a download, and -o does not copy it; its file is \(file)")
            }
            if !console.json { console.line(file) }
            return
        }
        let body = FetchedBody(task: task, output: output, session: session)
        if task.state == .completed {
            if !console.json || output != nil, !fail || !body.isOfError { try await body.deliver() }
            return
        }
        if !console.json { console.complain(task.error?.words(for: id) ?? "task \(id) is \(task.state.rawValue)") }
        if !fail, !console.json || output != nil { try body.deliverOfError() }
        throw CommandFailure.taskFailed
    }

    /// Cancels and removes the request, because nobody waits for it any more.
    private func abandon(_ id: TaskID, _ session: CommandSession) async {
        do {
            guard let client = try await session.access.connectToRunning() else {
                return session.console.complain("the daemon does not answer; task \(id) continues when it does")
            }
            let selection = ControlSelection(ids: [id])
            _ = try await client.call(Methods.cancelTasks, CancelTasks(selection))
            _ = try await client.call(Methods.removeTasks, RemoveTasks(selection))
            await client.close()
            session.console.remark("interrupted; the request is cancelled")
        } catch {
            session.console.complain("task \(id) may still run: \(Printable.text("\(error)", limit: 200))")
        }
    }

    func spec(_ session: CommandSession) throws -> TaskSpec {
        guard ListFile.looksLikeURL(url) else {
            throw CommandFailure.usage("'\(Printable.text(url, limit: 60))' is not a URL")
        }
        var spec = TaskSpec()
        scheduling.apply(to: &spec)
        try Secrets(session: session).apply(request, to: &spec)
        spec.kind = .data
        spec.url = url
        spec.clientToken = scheduling.clientToken
        spec.method = method ?? (data == nil ? nil : "POST")
        spec.body = try data.map { try body($0, session) }
        if scheduling.retry == nil {
            var once = RetryPolicySpec()
            once.attempts = 1
            spec.retry = once
        }
        let saysHowLong =
            scheduling.maxTime != nil || scheduling.deadline != nil || scheduling.retry != nil
            || scheduling.session != nil
        if !saysHowLong { spec.timeoutIntervalForResource = Self.patience }
        return spec
    }

    /// Encodes the body as text, or as base64 if that is shorter: in JSON, a control character takes six bytes.
    /// - Throws: `CommandFailure.usage` if it does not fit into a line of the socket.
    static func inline(_ bytes: [UInt8]) throws -> RequestBody {
        let text = String(validating: bytes, as: UTF8.self)
        let asText = bytes.reduce(0) { $0 + ($1 < 0x20 ? 6 : $1 == 0x22 || $1 == 0x5C ? 2 : 1) }
        let asBase64 = (bytes.count + 2) / 3 * 4
        let isText = text != nil && asText <= asBase64
        guard min(text == nil ? .max : asText, asBase64) <= mostInline else {
            throw CommandFailure.usage(
                "the body has \(Figures.bytes(ByteCount(Int64(bytes.count)))), too much for one request (8 MiB, encoded as JSON); "
                    + "save it to a file and send that: -d @FILE")
        }
        var body = RequestBody()
        if isText { body.text = text } else { body.base64 = Data(bytes).base64EncodedString() }
        return body
    }

    /// The most bytes of a body in a request. A line is limited to 8 MiB, and the rest of the specification needs some
    /// of them.
    private static let mostInline = 7 << 20

    private func body(_ data: String, _ session: CommandSession) throws -> RequestBody {
        var body = RequestBody()
        if data == "@-" {
            body = try Self.inline(try InputFile.read("-"))
        } else if data.hasPrefix("@") {
            body.file = session.absolute(String(data.dropFirst()))
        } else {
            body.text = data
        }
        return body
    }
}
