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

        @Option("Only this storage.", "name")
        var storage: String?

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let query = CacheInfo(storage: storage)
            try await session.list(Methods.cacheInfo, query, \.storages, none: "nothing is stored") { storages in
                Table(
                    [
                        .init(title: "STORAGE", isFlexible: true), .init(title: "MEMORY"), .init(title: "DISK"),
                        .init(title: "ANSWERS"),
                    ],
                    storages.map { storage in
                        [
                            StyledText(Printable.text(storage.storage), .strong),
                            StyledText(Figures.bytes(storage.memoryUsage)),
                            StyledText(Figures.bytes(storage.diskUsage)),
                            StyledText("\(max(storage.memoryEntries, storage.diskEntries))"),
                        ]
                    })
            }
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove stored answers.")

        @Option("Only answers in this storage.", "name")
        var storage: String?

        @Option("Only answers for this URL.", "url")
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
            try await session.tell(Methods.removeCached, .init(storage: storage, url: url)) {
                "\(Figures.count(max($0.memoryEntries, $0.diskEntries), "answer")) removed"
            }
        }
    }
}
