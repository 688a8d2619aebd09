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
        @Argument(help: .init("[SCHEME://]HOST[:PORT]; the default scheme is https.", valueName: "server"))
        var server: ServerArgument

        @Option("The realm that the server names; default: every realm.", "realm")
        var realm: String?

        @Flag(name: .customLong("proxy"), help: "The host is a proxy.")
        var isProxy = false

        @Option("The credentials of this session.", "session", short: "s", completion: .sessions)
        var session: String?

        func validate() throws { _ = try server.reading.get() }

        /// - Throws: `ValidationError`.
        func space() throws -> CredentialSpace {
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

        @Option("User name; without this option dlctl asks for it.", "name")
        var username: String?

        @Flag(help: "Read the password from standard input.")
        var passwordStdin = false

        @Option("Read the password from a file.", "file", completion: .file())
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
            let parameters = SetCredential(
                session: choice.session, protectionSpace: space,
                credential: DecisionCredential(username: given.user, password: given.password), isDefault: true)
            try await session.tell(Methods.setCredential, parameters) {
                "kept for \(Printable.text($0.credential.protectionSpace.origin))"
            }
        }
    }

    struct List: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List credentials without their passwords.")

        @Option("The credentials of this session.", "session", short: "s", completion: .sessions)
        var session: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let query = ListCredentials(session: self.session)
            try await session.list(Methods.listCredentials, query, \.credentials, none: "no credentials") {
                credentials in
                Table(
                    [
                        .init(title: "SERVER", isFlexible: true), .init(title: "REALM", dispensability: 1),
                        .init(title: "USER"), .init(title: "KEPT", dispensability: 2),
                        .init(title: "FLAGS", dispensability: 3),
                    ],
                    credentials.map { credential in
                        let space = credential.protectionSpace
                        return [
                            StyledText((space.isProxy ? "proxy " : "") + Printable.text(space.origin), .strong),
                            StyledText(space.realm.map { "\"\(Printable.text($0))\"" } ?? "any"),
                            StyledText(Printable.text(credential.username)),
                            StyledText(credential.persistence.rawValue), StyledText(Self.flags(of: credential)),
                        ]
                    })
            }
        }

        private static func flags(of credential: CredentialView) -> String {
            let flags = [
                credential.isRefused ? "refused" : nil, credential.isDefault ? nil : "not default",
                credential.protectionSpace.method?.rawValue,
            ]
            return flags.compactMap { $0 }.joined(separator: ",")
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove the credentials of a server or proxy; without options, those of every realm and user.")

        @OptionGroup var choice: Choice

        @Option("Only the credential of this user.", "name")
        var username: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let parameters = RemoveCredentials(
                session: choice.session, protectionSpace: try choice.space(), username: username)
            try await session.tell(Methods.removeCredentials, parameters) {
                ($0.removed == 0 ? "no credential" : Figures.count($0.removed, "credential")) + " removed"
            }
        }
    }
}
