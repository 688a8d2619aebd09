import ArgumentParser
import TransferModel
import TransferRPC

struct CacheCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Your answers to data tasks that the daemon keeps.",
        discussion: """
            The cache serves data tasks of volatile sessions, which live as long as a program's connection. 'shared' is your own \
            storage; sessions with a cache of their own have further ones.

            EXAMPLES:
              dlctl cache info
              dlctl cache remove --url https://example.org/data.json
              dlctl cache remove --all
            """,
        subcommands: [Info.self, Remove.self])

    struct Info: DaemonCommand {
        static let configuration = CommandConfiguration(commandName: "info", abstract: "Show how much is stored.")

        @Option(help: ArgumentHelp("Only this storage.", valueName: "name"))
        var storage: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(CacheInfo.self, .init(storage: storage))
            if session.console.json { return session.console.value(result) }
            if result.storages.isEmpty { return session.console.remark("nothing is stored") }
            var table = Table(columns: [
                .init(title: "STORAGE", isFlexible: true), .init(title: "MEMORY"), .init(title: "DISK"),
                .init(title: "ANSWERS"),
            ])
            table.rows = result.storages.map { storage in
                [
                    StyledText(Printable.text(storage.storage), .strong),
                    StyledText(Figures.bytes(storage.memoryUsage)), StyledText(Figures.bytes(storage.diskUsage)),
                    StyledText("\(max(storage.memoryEntries, storage.diskEntries))"),
                ]
            }
            table.render(width: session.console.width).forEach(session.console.line)
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove stored answers.")

        @Option(help: ArgumentHelp("Only answers in this storage.", valueName: "name"))
        var storage: String?

        @Option(help: ArgumentHelp("Only answers for this URL.", valueName: "url"))
        var url: String?

        @Flag(help: "Remove all answers.")
        var all = false

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func validate() throws {
            guard all != (storage != nil || url != nil) else {
                throw ValidationError("Say which: --storage or --url, or else --all.")
            }
        }

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(RemoveCached.self, .init(storage: storage, url: url))
            if session.console.json { return session.console.value(result) }
            session.console.remark("\(Figures.count(max(result.memoryEntries, result.diskEntries), "answer")) removed")
        }
    }
}
