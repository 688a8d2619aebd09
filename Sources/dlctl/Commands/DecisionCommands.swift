import ArgumentParser
import TransferModel
import TransferRPC

struct DecisionsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "decisions", abstract: "List the questions that tasks ask, and how to answer them.",
        discussion: """
            Tasks of a session with 'asks' put questions to their owner and wait for the answers, for example if a server \
            demands a user name or redirects the request.

            EXAMPLES:
              dlctl session open work asks=challenge,redirect
              dlctl add -s work URL
              dlctl decisions
              dlctl answer 3 useCredential --user anna
            """)

    @Option("Only questions of this session.", "session", short: "s", completion: .sessions)
    var session: String?

    @OptionGroup var owner: OwnerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let console = session.console
        try await session.withDaemon { client in
            if let name = self.session, owner.scope == nil { try await client.requireSession(name) }
            let result = try await client.call(
                Methods.listDecisions, ListDecisions(session: self.session, owner: owner.scope))
            if console.json { return console.value(result) }
            for decision in result.decisions {
                let task = try? await client.call(Methods.getTask, .init(id: decision.task))
                DecisionLines.render(decision, of: task.map { TaskName.of($0) }, for: session.asker, now: .now())
                    .forEach(console.line)
            }
            if result.decisions.isEmpty { console.remark("no open questions") }
            if result.truncated == true { console.remark("there are more; answer these first") }
        }
    }
}

struct AnswerCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer", abstract: "Answer a task's question.",
        discussion: """
            ACTIONS of a server or proxy that wants credentials:
              useCredential           send the user name of --user and a password
              performDefaultHandling  send your stored credentials (dlctl credential), if any
              rejectProtectionSpace   give none; the server's refusal is final
              cancel                  cancel the task

            ACTIONS if a server's certificate is not trusted:
              trust                   trust the key that 'decisions' shows, for this server
              performDefaultHandling  trust nothing; the task fails
              cancel                  cancel the task

            ACTIONS of a server that wants a certificate:
              useCredential           show the certificate of --certificate
              performDefaultHandling  show none
              cancel                  cancel the task

            ACTIONS of a redirect:
              follow                  go where the server says
              followWith              send another request (--url, --method, --header)
              refuse                  treat the redirect as the answer

            ACTIONS of an answer whose header has arrived:
              allow                   accept it
              becomeDownload          save the answer to a data task as a file
              cancel                  cancel the task

            ACTIONS of a task whose time to begin has come:
              continue                begin
              newRequest              send another request (--url, --method, --header)
              cancel                  cancel the task

            ACTIONS of an answer that would be kept in the cache:
              store                   keep it, as the server allows
              memoryOnly              keep it, but not on the disk
              doNotStore              do not keep it
            """)

    @Argument(help: .init("The question; 'decisions' lists them.", valueName: "id"))
    var id: Int64

    @Argument(help: .init("What to do.", valueName: "action"))
    var action: DecisionAction

    @Option("User name; dlctl asks for the password, or see below.", "name", short: "u")
    var user: String?

    @Option("PEM certificate to show; dlctl asks for the pass phrase of its key.", "file", completion: .file())
    var certificate: String?

    @Option("PEM key of --certificate, if it is in another file.", "file", completion: .file())
    var key: String?

    @Option("How long trust or a credential lasts: none (this task), session or permanent (all your tasks).", "time")
    var persistence: CredentialPersistence?

    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Option("Read the password from a file.", "file", completion: .file())
    var passwordFile: String?

    @Flag(help: "Use the credential for all tasks of the session, like --persistence session.")
    var forSession = false

    @Option("URL of another request.", "url")
    var url: String?

    @Option("Method of another request.", "method", short: "X")
    var method: String?

    @Option(
        "A header 'Name: value' of another request, or @FILE with one per line, in place of all proposed ones; may be repeated.",
        "header", short: "H")
    var header: [String] = []

    @Option("Save as this file.", "file", short: "o", long: "output", completion: .file())
    var output: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    private var namesRequest: Bool { url != nil || method != nil || !header.isEmpty }

    func validate() throws {
        let makesRequest = action == .followWith || action == .newRequest
        guard namesRequest == makesRequest else {
            throw ValidationError(
                makesRequest
                    ? "\(action.rawValue) needs --url, --method or --header."
                    : "--url, --method and --header are only for followWith and newRequest.")
        }
        if output != nil, action != .becomeDownload { throw ValidationError("-o is only for becomeDownload.") }
        for text in header where !HeaderArgument.isAcceptable(text) {
            throw ValidationError(HeaderArgument.complaint(text))
        }
        let given = [user, certificate].compactMap { $0 }.count
        guard given == (action == .useCredential ? 1 : 0) else {
            throw ValidationError(
                action == .useCredential
                    ? "useCredential needs either --user or --certificate."
                    : "--user and --certificate are only for useCredential.")
        }
        if certificate == nil, key != nil { throw ValidationError("--key is only for --certificate.") }
        if persistence != nil, action != .trust, user == nil || forSession {
            throw ValidationError("--persistence is only for trust, and for --user instead of --for-session.")
        }
        if given == 0, passwordStdin || passwordFile != nil {
            throw ValidationError("A password needs --user or --certificate.")
        }
        if forSession, user == nil { throw ValidationError("--for-session is only for --user.") }
        if passwordStdin, passwordFile != nil {
            throw ValidationError("Use only one of --password-stdin and --password-file.")
        }
    }

    func run(_ session: CommandSession) async throws {
        var parameters = AnswerDecision(
            id: DecisionID(id), action: action, persistence: action == .trust ? persistence : nil)
        let secrets = Secrets(session: session)
        if let certificate {
            var client = ClientCertificate(certificate: session.absolute(certificate))
            client.key = key.map(session.absolute)
            client.password = try secrets.passPhrase(
                of: client.key ?? client.certificate, fromStdin: passwordStdin, fromFile: passwordFile)
            parameters.credential = DecisionCredential(client)
        }
        if let user {
            let given = try secrets.login(user, fromStdin: passwordStdin, fromFile: passwordFile)
            parameters.credential = DecisionCredential(
                username: given.user, password: given.password, persistence: forSession ? .session : persistence)
        }
        if action == .becomeDownload {
            parameters.destination = output.map { Destination(path: session.absolute($0)) }
        }
        if namesRequest {
            let headers = try secrets.headers(header)
            parameters.request = TaskRequest(url: url, method: method, headers: headers.isEmpty ? nil : headers)
        }
        let result = try await session.call(Methods.answerDecision, parameters)
        if session.console.json { return session.console.value(result) }
        if !session.console.quiet {
            session.console.line("answered \(result.decision) of task \(result.task): \(result.action.rawValue)")
        }
    }
}
