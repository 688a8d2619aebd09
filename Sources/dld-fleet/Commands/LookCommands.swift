import ArgumentParser
import TransferModel

/// The states of a job.
enum JobState: String, ExpressibleByArgument, CaseIterable {
    case queued, leased, done, failed, cancelled
}

struct ListCommand: FleetCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List jobs, by id.")

    @Option(parsing: .singleValue, help: .init("Only jobs in this state; may be repeated.", valueName: "state"))
    var state: [JobState] = []
    @Option(help: .init("Only jobs of this pool.", valueName: "pool"))
    var pool: String?
    @Option(help: .init("Only jobs that this node holds.", valueName: "node"))
    var node: String?
    @Option(help: .init("At most this many, 1 to 10000.", valueName: "n"))
    var limit = 100
    @Option(help: .init("Only jobs with larger ids.", valueName: "id"))
    var after: Int64 = 0

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit: use 1 to 10000.") }
    }

    func run(_ session: FleetSession) throws {
        let filter: SQL = """
             WHERE o.id > $1::bigint AND ($2::text[] IS NULL OR state = ANY ($2::text[]))
                AND ($3::text IS NULL OR pool = $3::text) AND ($4::text IS NULL OR lease_node = $4::text)
            ORDER BY o.id LIMIT $5::int
            """
        let found = try session.rows(
            Job.columns + filter,
            [
                .init(after), .init(array: state.isEmpty ? nil : state.map(\.rawValue)), .init(pool), .init(node),
                .init(limit + 1),
            ])
        let jobs = found.prefix(limit).map(Job.init)
        let next = found.count > limit ? jobs.last?.id : nil
        if global.json {
            return session.console.value([
                "jobs": .array(jobs.map(\.value)), "next": next.map { .integer($0) } ?? .null,
            ])
        }
        if jobs.isEmpty { return session.console.remark("no such jobs") }
        session.console.table(Job.titles, rights: Job.rights, jobs.map(\.cells))
        if let next { session.console.remark("… and more; --after \(next) shows them") }
    }
}

struct ShowCommand: FleetCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a job and what became of its attempts.")

    @Argument(help: .init("The job.", valueName: "id"))
    var id: JobID

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: FleetSession) throws {
        guard let job = try session.jobs([id.number]).first else { throw FleetSession.unknown(job: [id.number]) }
        if global.json { return session.console.value(job.story) }
        job.sheet.forEach(session.console.line)
    }
}

struct WatchCommand: FleetCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print jobs whenever their states change, until all have ended.")

    @Argument(help: .init("The jobs.", valueName: "id"))
    var ids: [JobID]
    @Option(help: .init("Stop after this time, with status 5.", valueName: "seconds"))
    var timeout: SecondsArgument?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: FleetSession) throws {
        var watch = Watch(ids.map(\.number), timeout: timeout?.seconds, session)
        try watch.run()
    }
}
