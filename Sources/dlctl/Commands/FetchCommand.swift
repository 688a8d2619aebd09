import ArgumentParser
import FoundationEssentials
import TransferModel
import TransferRPC

struct FetchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Make a short request and print the body of the answer.",
        discussion: """
            The daemon makes the request, as durably as it downloads, and keeps the answer with the task; dlctl waits \
            for it. For files use 'add'.

            EXAMPLES:
              dlctl fetch https://example.org/status
              dlctl fetch -X PUT -H 'Content-Type: application/json' -d '{"on":true}' URL
              dlctl fetch -d @form.txt URL
            """)

    @Argument(help: ArgumentHelp("What to ask.", valueName: "url"))
    var url: String

    @Option(
        name: [.customShort("X"), .long], help: ArgumentHelp("HTTP method; GET, or POST with -d.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("d"), .long],
        help: ArgumentHelp("Body to send; @FILE sends a file.", valueName: "body"), completion: .file())
    var data: String?

    @OptionGroup(title: "Scheduling") var scheduling: SchedulingOptions
    @OptionGroup(title: "Request") var request: RequestOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let spec = try spec(session)
        let submission = Submission(specs: [spec], session: scheduling.session, waits: true)
        let client = try await session.connect()
        let head = try await client.call(ListEvents.self, ListEvents.Parameters(after: .now, limit: 1)).head
        let added = try await submission.send(over: client)
        guard let id = added.first?.id else { throw CommandFailure.local("the daemon added no task") }
        let known = try await submission.known(added, client)
        let plan = FollowPlan(tasks: [id], known: known, after: head)
        let state = try await Following.follower(plan, endsWhenOver: true, session)
            .run(client, display: SilentDisplay())
        await client.close()
        let task = try await session.call(GetTask.self, TaskReference(id: id))
        if session.console.json {
            try session.console.value(task)
        } else if let error = task.error {
            session.console.complain("\(error.code.rawValue): \(Printable.text(error.message))")
            if let text = task.response?.body?.text { session.console.raw(text) }
        }
        if state.hasFailure { throw CommandFailure.taskFailed }
        if !session.console.json { try await printBody(of: id, session) }
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
        if let data {
            var body = RequestBody()
            if data.hasPrefix("@") {
                body.file = session.absolute(String(data.dropFirst()))
            } else {
                body.text = data
            }
            spec.body = body
        }
        return spec
    }

    private func printBody(of id: TaskID, _ session: CommandSession) async throws {
        let client = try await session.connect()
        var offset: Int64 = 0
        while true {
            let piece = try await client.call(ReadBody.self, ReadBody.Parameters(id: id, offset: offset))
            let bytes = Data(base64Encoded: piece.data) ?? Data()
            session.console.raw([UInt8](bytes))
            offset += Int64(bytes.count)
            if piece.eof || bytes.isEmpty { break }
        }
        await client.close()
    }
}
