import ArgumentParser
import FoundationEssentials
import TransferModel

/// The options that every command takes.
struct GlobalOptions: ParsableArguments {
    @Option(help: .init("Read this file and no other.", valueName: "file"))
    var config: String?

    @Flag(help: "Print JSON: one value, or one per line if results come one by one.")
    var json = false

    var console: Console { Console(json: json) }

    /// - Throws: `Failure` with status 78.
    func settings() throws(Failure) -> FleetSettings {
        try FleetSettings.load(file: config, environment: ProcessInfo.processInfo.environment)
    }
}

/// A command that uses the database, if its schema fits.
protocol FleetCommand: ParsableCommand {
    var global: GlobalOptions { get }
    func run(_ session: FleetSession) throws
}

extension FleetCommand {
    mutating func run() throws {
        let settings = try global.settings()
        let session = FleetSession(
            database: try Database(settings.connection), console: global.console, settings: settings)
        try Schema.check(session.database)
        try run(session)
    }
}

/// What a command has: the database, its output and the settings.
struct FleetSession {
    var database: Database
    let console: Console
    let settings: FleetSettings

    /// Repeats conflicts; see `Database.repeating`.
    func rows(_ sql: SQL, _ parameters: [SQLParameter] = []) throws(DatabaseError) -> Rows {
        try database.repeating { () throws(DatabaseError) in try database.rows(sql, parameters) }
    }

    /// The jobs with these ids, by id.
    func jobs(_ ids: [Int64]) throws(DatabaseError) -> [Job] {
        try rows(Job.columns + " WHERE o.id = ANY ($1::bigint[]) ORDER BY o.id", [.init(array: ids)]).map(Job.init)
    }

    static func unknown(job ids: [Int64]) -> Failure {
        Failure(.refused, "job.unknown", "There is no job \(ids.map(String.init).joined(separator: ", ")).")
    }
}

/// The id of a job on the command line.
struct JobID: ExpressibleByArgument, Hashable {
    let number: Int64

    init?(argument: String) {
        guard let number = Int64(argument), number > 0 else { return nil }
        self.number = number
    }
}

/// A time on the command line: RFC 3339, or `+2h` from the database's now.
struct MomentArgument: ExpressibleByArgument, Hashable {
    var exact: Timestamp?
    var delay: Double?

    init?(argument: String) {
        if argument.hasPrefix("+") {
            delay = QuantityText.seconds(String(argument.dropFirst()))
        } else {
            exact = Timestamp(argument)
        }
        if exact == nil, delay == nil { return nil }
    }
}

/// Seconds on the command line: `90`, `5m`.
struct SecondsArgument: ExpressibleByArgument, Hashable {
    let seconds: Double

    init?(argument: String) {
        guard let seconds = QuantityText.seconds(argument) else { return nil }
        self.seconds = seconds
    }
}
