import ArgumentParser
import TransferModel

/// A node as `nodes` prints it.
struct NodeRow {
    let row: Row

    static let columns: SQL = """
        SELECT n.name, to_json(n.pools) AS pools, to_json(n.labels) AS labels, n.capacity, n.version, n.figures,
            coalesce(l.leased, 0) AS leased,
            to_char(n.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS seen_at,
            extract(epoch FROM now() - n.seen_at)::bigint AS unseen,
            CASE WHEN n.seen_at < now() - interval '60 s' THEN 'lost' WHEN NOT n.draining THEN 'up'
                WHEN l.leased > 0 THEN 'draining' ELSE 'drained' END AS state
        FROM dld.nodes AS n LEFT JOIN (
            SELECT lease_node, count(*) AS leased FROM dld.overview WHERE state = 'leased' GROUP BY lease_node
        ) AS l ON l.lease_node = n.name
        """

    var state: String { row.text("state") ?? "" }

    var value: JSONValue {
        [
            "name": .string(row.text("name") ?? ""), "state": .string(state), "pools": row.json("pools"),
            "labels": row.json("labels"), "capacity": row.json("capacity"), "leased": row.json("leased"),
            "seenAt": row.text("seen_at").map { .string($0) } ?? .null, "version": .string(row.text("version") ?? ""),
            "figures": row.json("figures"),
        ]
    }

    static let titles = ["NODE", "STATE", "LEASED", "FREE", "SEEN", "POOLS", "LABELS", "VERSION"]
    static let rights: Set = [2, 3, 4]

    var cells: [String] {
        func words(_ column: String) -> String {
            let list = row.json(column).arrayValue?.compactMap(\.stringValue) ?? []
            return list.isEmpty ? "-" : list.joined(separator: ",")
        }
        let free = row.json("figures")["freeBytes"]?.integerValue.map { QuantityText.rounded(bytes: $0) }
        let unseen = max(0, row.integer("unseen") ?? 0)
        return [
            row.text("name") ?? "", state, "\(row.text("leased") ?? "")/\(row.text("capacity") ?? "")", free ?? "-",
            "\(unseen)s ago", words("pools"), words("labels"), row.text("version") ?? "",
        ]
    }
}

struct NodesCommand: FleetCommand {
    static let configuration = CommandConfiguration(
        commandName: "nodes", abstract: "List the nodes: up, draining, drained, or lost (unseen for 60 s).")

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: FleetSession) throws {
        let nodes = try session.rows(NodeRow.columns + " ORDER BY n.name").map(NodeRow.init)
        if global.json { return session.console.value(["nodes": .array(nodes.map(\.value))]) }
        if nodes.isEmpty { return session.console.remark("no nodes") }
        session.console.table(NodeRow.titles, rights: NodeRow.rights, nodes.map(\.cells))
    }
}

struct DrainCommand: FleetCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Let a node take no more jobs, end those that it has, and hand back the rest.",
        discussion: "It lasts until --undo, also over restarts of the node.")

    @Argument(help: .init("The node.", valueName: "node"))
    var node: String
    @Option(help: .init("Hand back after this time; default: the node's drainLimit.", valueName: "seconds"))
    var limit: SecondsArgument?
    @Flag(help: "Let the node take jobs again.")
    var undo = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if undo, limit != nil { throw ValidationError("Use only one of --undo and --limit.") }
    }

    func run(_ session: FleetSession) throws {
        let found = try session.rows(
            "SELECT dld.drain($1::text, $2::boolean, make_interval(secs => $3::float8)) AS found",
            [.init(node), .init(!undo), .init(seconds: limit?.seconds)])
        let row = try session.rows(NodeRow.columns + " WHERE n.name = $1::text", [.init(node)]).first.map(NodeRow.init)
        guard found.first?.flag("found") == true, let state = row?.state else {
            throw Failure(.refused, "node.unknown", "There is no node \(node).")
        }
        if global.json { return session.console.value(["node": .string(node), "state": .string(state)]) }
        session.console.line(Printable.text("\(node)  \(state)"))
    }
}

struct LimitCommand: FleetCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "List how many jobs of one host may run at once in the whole fleet, or set it.",
        discussion: """
            A host is written as `list --json` shows it: a name in small letters, and `:PORT` if that is not the scheme's own.
            """)

    @Argument(help: .init("The pool.", valueName: "pool"))
    var pool: String?
    @Argument(help: .init("The host.", valueName: "host"))
    var host: String?
    @Argument(help: .init("1 or more, or none.", valueName: "n"))
    var count: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// nil: `none`.
    private var leases: Int32? { count.flatMap { Int32($0) } }

    func validate() throws {
        if pool != nil, count == nil { throw ValidationError("Give POOL HOST N, POOL HOST none, or nothing.") }
        if let count, count != "none", (leases ?? 0) < 1 {
            throw ValidationError("A limit is 1 or more, or none.")
        }
    }

    func run(_ session: FleetSession) throws {
        if let pool, let host {
            _ = try session.rows(
                "SELECT dld.set_limit($1::text, $2::text, $3::int)", [.init(pool), .init(host), .init(leases)])
        }
        let limits = try session.rows("SELECT pool, host, max_leases, in_flight FROM dld.limits ORDER BY pool, host")
        if global.json {
            let values = limits.map { row -> JSONValue in
                [
                    "pool": .string(row.text("pool") ?? ""), "host": .string(row.text("host") ?? ""),
                    "limit": row.json("max_leases"), "inFlight": row.json("in_flight"),
                ]
            }
            return session.console.value(["limits": .array(values)])
        }
        if limits.isEmpty { return session.console.remark("no limits") }
        session.console.table(
            ["POOL", "HOST", "LIMIT", "RUNNING"], rights: [2, 3],
            limits.map { row in ["pool", "host", "max_leases", "in_flight"].map { row.text($0) ?? "" } })
    }
}
