import ArgumentParser
import TransferModel
import TransferRPC

struct CredentialCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential",
        abstract: "Your user names and passwords that the daemon keeps.",
        discussion: """
            Tasks send them to servers and proxies that ask for them, if nothing else was given and nobody is asked \
            (session setting 'asks'). One that is refused is not sent again until you add it anew.

            EXAMPLES:
              dlctl credential add example.org --username anna
              dlctl credential add http://proxy.example.org:3128 --proxy --username anna
              dlctl credential list
              dlctl credential remove example.org
            """,
        subcommands: [Add.self, List.self, Remove.self])

    /// What they are for, and whose.
    struct Choice: ParsableArguments {
        @Argument(help: ArgumentHelp("[SCHEME://]HOST[:PORT]; https without a scheme.", valueName: "server"))
        var server: ServerArgument

        @Option(help: ArgumentHelp("The server's name for what it protects; every one without.", valueName: "realm"))
        var realm: String?

        @Flag(name: .customLong("proxy"), help: "It is a proxy.")
        var isProxy = false

        @Option(
            name: [.customShort("s", allowingJoined: true), .long],
            help: ArgumentHelp("Of this session alone.", valueName: "session"), completion: .sessions)
        var session: String?

        var space: CredentialSpace {
            var space = server.space
            space.realm = realm
            space.isProxy = isProxy
            return space
        }
    }

    struct Add: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Keep a user name and a password for a server or proxy.",
            discussion: "dlctl asks for the password, without showing it.")

        @OptionGroup var choice: Choice

        @Option(help: ArgumentHelp("User name; dlctl asks for it without.", valueName: "name"))
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
            // RFC 7617 section 2. What follows it would be taken for a password that was given.
            if username?.contains(":") == true {
                throw ValidationError(
                    "--username: a user name has no colon. Give the password at the prompt, or with --password-stdin or --password-file."
                )
            }
        }

        func run(_ session: CommandSession) async throws {
            let place = Printable.text(choice.space.origin, limit: 60)
            let user = try username ?? PasswordPrompt.ask("User name for \(place) (not shown): ")
            let given = try Secrets(session: session).login(user, fromStdin: passwordStdin, fromFile: passwordFile)
            let result = try await session.call(
                SetCredential.self,
                .init(
                    session: choice.session, protectionSpace: choice.space,
                    credential: DecisionCredential(username: given.user, password: given.password), isDefault: true))
            if session.console.json { return try session.console.value(result) }
            session.console.remark("kept for \(Printable.text(result.credential.protectionSpace.origin))")
        }
    }

    struct List: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List what they are for; passwords are never shown.")

        @Option(
            name: [.customShort("s", allowingJoined: true), .long],
            help: ArgumentHelp("Those of this session alone.", valueName: "session"), completion: .sessions)
        var session: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(ListCredentials.self, .init(session: self.session))
            if session.console.json { return try session.console.value(result) }
            if result.credentials.isEmpty { return session.console.remark("no credentials") }
            CredentialTable.render(result.credentials, width: session.console.width).forEach(session.console.line)
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove those of a server or proxy, of every realm and user without options.")

        @OptionGroup var choice: Choice

        @Option(help: ArgumentHelp("Only that of this user.", valueName: "name"))
        var username: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(
                RemoveCredentials.self,
                .init(session: choice.session, protectionSpace: choice.space, username: username))
            if session.console.json { return try session.console.value(result) }
            let count = result.removed == 0 ? "no credential" : Figures.count(result.removed, "credential")
            session.console.remark("\(count) removed")
        }
    }
}
