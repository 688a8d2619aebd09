import ArgumentParser
import TransferModel
import TransferRPC

struct CredentialCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential",
        abstract: "Your user names and passwords that the daemon keeps.",
        discussion: """
            A task sends a credential to a server or proxy that asks for one, unless its session asks a client (setting \
            'asks'). Credentials of the task itself come first; if they are refused, a stored one is sent, also one of \
            another user name. If the task names a user without a password, only that user's credential is sent. A refused \
            credential is not sent again until you add it again; one that a credential helper gave, until you add or \
            remove one for that server.

            EXAMPLES:
              dlctl credential add example.org --username anna
              dlctl credential add http://proxy.example.org:3128 --proxy --username anna
              dlctl credential list
              dlctl credential remove example.org
            """,
        subcommands: [Add.self, List.self, Remove.self])

    /// The server that the credentials are for, and their owner.
    struct Choice: ParsableArguments {
        @Argument(help: ArgumentHelp("[SCHEME://]HOST[:PORT]; the default scheme is https.", valueName: "server"))
        var server: ServerArgument

        @Option(help: ArgumentHelp("The realm that the server names; default: every realm.", valueName: "realm"))
        var realm: String?

        @Flag(name: .customLong("proxy"), help: "The host is a proxy.")
        var isProxy = false

        @Option(
            name: [.customShort("s", allowingJoined: true), .long],
            help: ArgumentHelp("The credentials of this session.", valueName: "session"), completion: .sessions)
        var session: String?

        func validate() throws { try server.check() }

        /// - Throws: `ValidationError`.
        func space() throws -> CredentialSpace {
            try server.check()
            var space = try server.reading.get()
            space.realm = realm
            space.isProxy = isProxy
            return space
        }
    }

    struct Add: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Store a user name and a password for a server or proxy.",
            discussion: "dlctl asks for the password, without showing it.")

        @OptionGroup var choice: Choice

        @Option(help: ArgumentHelp("User name; without this option dlctl asks for it.", valueName: "name"))
        var username: String?

        @Flag(help: "Read the password from standard input.")
        var passwordStdin = false

        @Option(help: ArgumentHelp("Read the password from a file.", valueName: "file"), completion: .file())
        var passwordFile: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func validate() throws {
            if passwordStdin, passwordFile != nil {
                throw ValidationError("Use only one of --password-stdin and --password-file.")
            }
            // RFC 7617 section 2. The text after a colon would be taken for the password.
            if username?.contains(":") == true {
                throw ValidationError(
                    "--username: a user name has no colon. Give the password at the prompt, or with --password-stdin or --password-file."
                )
            }
        }

        func run(_ session: CommandSession) async throws {
            let space = try choice.space()
            let place = Printable.text(space.origin, limit: 60)
            let user = try username ?? PasswordPrompt.ask("User name for \(place): ", echoes: true)
            let given = try Secrets(session: session).login(user, fromStdin: passwordStdin, fromFile: passwordFile)
            let result = try await session.call(
                SetCredential.self,
                .init(
                    session: choice.session, protectionSpace: space,
                    credential: DecisionCredential(username: given.user, password: given.password), isDefault: true))
            if session.console.json { return session.console.value(result) }
            session.console.remark("kept for \(Printable.text(result.credential.protectionSpace.origin))")
        }
    }

    struct List: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List credentials without their passwords.")

        @Option(
            name: [.customShort("s", allowingJoined: true), .long],
            help: ArgumentHelp("The credentials of this session.", valueName: "session"), completion: .sessions)
        var session: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(ListCredentials.self, .init(session: self.session))
            if session.console.json { return session.console.value(result) }
            if result.credentials.isEmpty { return session.console.remark("no credentials") }
            CredentialTable.render(result.credentials, width: session.console.width).forEach(session.console.line)
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove the credentials of a server or proxy; without options, those of every realm and user.")

        @OptionGroup var choice: Choice

        @Option(help: ArgumentHelp("Only the credential of this user.", valueName: "name"))
        var username: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(
                RemoveCredentials.self,
                .init(session: choice.session, protectionSpace: try choice.space(), username: username))
            if session.console.json { return session.console.value(result) }
            let count = result.removed == 0 ? "no credential" : Figures.count(result.removed, "credential")
            session.console.remark("\(count) removed")
        }
    }
}
