import ArgumentParser
import TransferModel
import TransferRPC

struct HSTSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hsts",
        abstract: "Hosts that your tasks reach over https alone, because they asked for it (HSTS).",
        discussion: """
            Tasks of a session learn and obey this if its 'hsts' is true. That is the default of sessions that last as long \
            as a connection; others need 'dlctl session open NAME hsts=true'.

            EXAMPLES:
              dlctl hsts list
              dlctl hsts remove example.org
            """,
        subcommands: [List.self, Remove.self])

    struct List: DaemonCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the hosts.")

        @Option("Only this domain and the names below it.", "domain")
        var domain: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            try await session.list(Methods.listHSTS, .init(domain: domain), \.hosts, none: "no hosts") { hosts in
                Table(
                    [
                        .init(title: "DOMAIN", isFlexible: true), .init(title: "SUBDOMAINS", dispensability: 1),
                        .init(title: "LEARNED", dispensability: 2), .init(title: "EXPIRES"),
                    ],
                    hosts.map { host in
                        [
                            StyledText(Printable.text(host.domain), .strong),
                            StyledText(host.includesSubdomains ? "yes" : "no"),
                            StyledText(LocalTime.text(host.learned)), StyledText(LocalTime.text(host.expires)),
                        ]
                    })
            }
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Forget hosts, until they ask again.",
            discussion: "Without this, a host that no longer offers https cannot be reached before it expires.")

        @Argument(
            help: .init("The domain, or a URL for its host; names below it are forgotten too.", valueName: "domain"))
        var domain: String?

        @Flag(help: "Forget all hosts.")
        var all = false

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func validate() throws {
            guard all == (domain == nil) else { throw ValidationError("Say which: a domain, or else --all.") }
        }

        func run(_ session: CommandSession) async throws {
            try await session.tell(Methods.removeHSTS, .init(domain: domain.map(URLText.host))) {
                "\(Figures.count($0.removed, "host")) forgotten"
            }
        }
    }
}
