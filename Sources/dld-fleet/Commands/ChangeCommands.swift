import ArgumentParser
import TransferModel

struct CancelCommand: FleetCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel jobs: queued ones at once, leased ones as soon as their nodes have stopped.")

    @Argument(help: .init("The jobs.", valueName: "id"))
    var ids: [JobID]

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: FleetSession) throws {
        let rows = try session.rows(
            """
            SELECT w.id, o.state AS before, dld.cancel(w.id) AS after
            FROM unnest($1::bigint[]) AS w (id) LEFT JOIN dld.overview AS o ON o.id = w.id ORDER BY w.id
            """, [.init(array: Set(ids.map(\.number)).sorted())])
        try Changes(rows, from: ["queued", "leased"], to: ["cancelled", "leased"]).print(session.console)
    }
}

struct RetryCommand: FleetCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Queue failed and cancelled jobs again, with all their attempts.")

    @Argument(help: .init("The jobs.", valueName: "id"))
    var ids: [JobID]

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: FleetSession) throws {
        let rows = try session.rows(
            """
            SELECT w.id, o.state AS before, dld.retry(w.id) AS after
            FROM unnest($1::bigint[]) AS w (id) LEFT JOIN dld.overview AS o ON o.id = w.id ORDER BY w.id
            """, [.init(array: Set(ids.map(\.number)).sorted())])
        try Changes(rows, from: ["failed", "cancelled"], to: ["queued"]).print(session.console)
    }
}

/// What became of the jobs that a command named.
struct Changes: Hashable {
    var changed: [Entry] = []
    var skipped: [Entry] = []
    var unknown: [Int64] = []

    struct Entry: Hashable {
        var id: Int64
        var state: String
    }

    /// - Parameters:
    ///   - before: the states that the command changes.
    ///   - after: the states that show that it did.
    init(_ rows: some Sequence<Row>, from before: Set<String>, to after: Set<String>) {
        for row in rows {
            guard let id = row.integer("id") else { continue }
            guard let state = row.text("after") else {
                unknown.append(id)
                continue
            }
            if after.contains(state), before.contains(row.text("before") ?? "") {
                changed.append(Entry(id: id, state: state))
            } else {
                skipped.append(Entry(id: id, state: state))
            }
        }
    }

    /// - Throws: `Failure` with status 4 for jobs that do not exist.
    func print(_ console: Console) throws {
        if console.json {
            console.value([
                "changed": .array(changed.map { .integer($0.id) }),
                "skipped": .array(skipped.map { ["id": .integer($0.id), "state": .string($0.state)] }),
            ])
        } else {
            changed.forEach { console.line("\($0.id)  \($0.state == "leased" ? "cancelling" : $0.state)") }
            skipped.forEach { console.line("\($0.id)  stays \($0.state)") }
        }
        if !unknown.isEmpty { throw FleetSession.unknown(job: unknown) }
    }
}
