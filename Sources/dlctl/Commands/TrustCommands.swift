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

        @Option(help: ArgumentHelp("Only the servers of this host.", valueName: "host"))
        var host: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(ListTrust.self, .init(host: host))
            if session.console.json { return session.console.value(result) }
            if result.servers.isEmpty { return session.console.remark("no trusted servers") }
            TrustTable.render(result.servers, width: session.console.width).forEach(session.console.line)
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Trust servers no longer.",
            discussion: "The next task that meets such a server asks again.")

        @Argument(help: ArgumentHelp("The host, or a URL for its host; all its ports are meant.", valueName: "host"))
        var host: String?

        @Flag(help: "Trust none of the servers any more.")
        var all = false

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func validate() throws {
            guard all == (host == nil) else { throw ValidationError("Say which: a host, or else --all.") }
        }

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(RemoveTrust.self, .init(host: host.map(URLText.host)))
            if session.console.json { return session.console.value(result) }
            session.console.remark("\(Figures.count(result.removed, "server")) trusted no longer")
        }
    }
}
