import ArgumentParser
import TransferModel

struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Create or update the schema dld.",
        discussion: """
            It needs a role that may create schemas and roles, and may run twice, concurrently and during traffic. Update the \
            schema first, then the nodes.
            """)

    @Flag(help: "Change nothing; status 1 if a migration is due.")
    var check = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    mutating func run() throws {
        let settings = try global.settings()
        let migration = try Schema.migrate(Database(settings.connection), isTrial: check)
        if global.json {
            global.console.value([
                "from": .integer(Int64(migration.from)), "to": .integer(Int64(migration.to)),
                "changed": .bool(migration.isDue && !check),
            ])
        } else if migration.isDue {
            let verb = check ? "would go" : "went"
            global.console.line("The schema dld \(verb) from version \(migration.from) to \(migration.to).")
        } else {
            global.console.line("The schema dld has version \(migration.to); there is nothing to do.")
        }
        if check, migration.isDue { throw ExitStatus.failed }
    }
}

struct NodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "node", abstract: "Work for the fleet, in the foreground; logs to standard error.")

    @Flag(help: "Check the settings, print mistakes, and exit.")
    var checkConfig = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    mutating func run() async throws {
        let settings = try global.settings()
        if checkConfig { return global.console.line(global.json ? "{}" : "Good.") }
        let global = global
        try await NodeService.run(settings) { try global.settings() }
    }
}
