import ArgumentParser
import TransferModel
import TransferRPC

struct TrustCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust",
        abstract: "TLS servers whose keys you trust for good.",
        discussion: """
            If the certificate of a server does not verify, tasks of a session with 'asks' ask you whether to trust its key. \
            An answer with --persistence permanent is for all your tasks of such sessions, until you remove it here.

            EXAMPLES:
              dlctl answer 3 trust --persistence permanent
              dlctl trust list
              dlctl trust remove example.org
            """,
        subcommands: [List.self, Remove.self])

    struct List: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the servers and their keys.")

        @Option("Only the servers of this host.", "host")
        var host: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            try await session.list(Methods.listTrust, .init(host: host), \.servers, none: "no trusted servers") {
                servers in
                Table(
                    [
                        .init(title: "SERVER", isFlexible: true), .init(title: "KEY"),
                        .init(title: "TRUSTED", dispensability: 1),
                    ],
                    servers.flatMap { server in
                        server.keys.map { key in
                            [
                                StyledText(Printable.text(server.key.origin), .strong),
                                StyledText(Printable.text(key)), StyledText(LocalTime.text(server.trusted)),
                            ]
                        }
                    })
            }
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Trust servers no longer.",
            discussion: "The next task that meets such a server asks again.")

        @Argument(help: .init("The host, or a URL for its host; all its ports are meant.", valueName: "host"))
        var host: String?

        @Flag(help: "Trust none of the servers any more.")
        var all = false

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func validate() throws {
            guard all == (host == nil) else { throw ValidationError("Say which: a host, or else --all.") }
        }

        func run(_ session: CommandSession) async throws {
            try await session.tell(Methods.removeTrust, .init(host: host.map(URLText.host))) {
                "\(Figures.count($0.removed, "server")) trusted no longer"
            }
        }
    }
}
