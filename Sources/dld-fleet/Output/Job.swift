import TransferModel

/// A job as commands print it; read from `dld.overview`, which has no spec.
struct Job: Sendable {
    let row: Row

    /// What `init` needs of the view. Times are RFC 3339 in UTC with milliseconds, as in protocol.md.
    static let columns: SQL = """
        SELECT o.id, pool, state, kind, url, host, priority, attempts, max_attempts, token, to_json(labels) AS labels,
            lease_node, lease_epoch, progress, result, error, history, cancel_requested, late,
            to_char(run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS run_at,
            to_char(lease_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS lease_until,
            to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
            to_char(leased_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS leased_at,
            to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ended_at
        FROM dld.overview AS o
        """

    var id: Int64 { row.integer("id") ?? 0 }
    var state: String { row.text("state") ?? "" }
    static func isFinal(_ state: String) -> Bool { ["done", "failed", "cancelled"].contains(state) }

    /// JOB of the contract.
    var value: JSONValue {
        func text(_ column: String) -> JSONValue { row.text(column).map { .string($0) } ?? .null }
        func number(_ column: String) -> JSONValue { row.integer(column).map { .integer($0) } ?? .null }
        return [
            "id": .integer(id), "pool": text("pool"), "state": .string(state), "kind": text("kind"), "url": text("url"),
            "host": text("host"), "priority": number("priority"), "runAt": text("run_at"),
            "attempts": number("attempts"), "maxAttempts": number("max_attempts"), "token": text("token"),
            "labels": row.json("labels"), "node": text("lease_node"), "epoch": number("lease_epoch"),
            "leaseUntil": text("lease_until"), "progress": row.json("progress"), "result": row.json("result"),
            "error": row.json("error"), "cancelRequested": .bool(row.flag("cancel_requested") ?? false),
            "createdAt": text("created_at"), "leasedAt": text("leased_at"), "endedAt": text("ended_at"),
        ]
    }

    /// With `history`, for `show`.
    var story: JSONValue {
        guard case .object(var members) = value else { return value }
        members["history"] = row.json("history")
        return .object(members)
    }

    // MARK: For people

    static let titles = ["ID", "STATE", "POOL", "PRIO", "TRIES", "NODE", "DONE", "URL"]
    static let rights: Set = [0, 3, 4, 6]

    var cells: [String] {
        [
            "\(id)", shownState, row.text("pool") ?? "", row.text("priority") ?? "",
            "\(row.text("attempts") ?? "")/\(row.text("max_attempts") ?? "")", node ?? "-", done, row.text("url") ?? "",
        ]
    }

    private var node: String? { row.text("lease_node") ?? row.json("result")["node"]?.stringValue }

    private var shownState: String {
        if row.flag("late") == true { return "leased:late" }
        return state == "leased" && row.flag("cancel_requested") == true ? "cancelling" : state
    }

    private var done: String {
        let progress = row.json("progress")
        guard let bytes = row.json("result")["size"]?.integerValue ?? progress["bytes"]?.integerValue else {
            return "-"
        }
        guard state == "leased", let total = progress["total"]?.integerValue, total > 0 else {
            return QuantityText.rounded(bytes: bytes)
        }
        return "\(Int(Double(min(max(bytes, 0), total)) / Double(total) * 100))%"
    }

    /// One line of `watch`.
    var line: String {
        let reason = row.json("result")["path"] ?? row.json("error")["message"]
        let words = ["\(id)", shownState, node, reason?.stringValue ?? row.text("url")]
        return Printable.text(words.compactMap(\.self).joined(separator: "  "))
    }

    /// The lines of `show`.
    var sheet: [String] {
        guard let members = story.objectValue else { return [] }
        let names = ["id", "pool", "state", "kind", "url", "host", "priority", "runAt", "attempts", "maxAttempts"]
        let shown = names + members.keys.filter { !names.contains($0) && $0 != "history" }.sorted()
        var lines = shown.compactMap { name -> String? in
            guard let value = members[name], value != .null, value != [] else { return nil }
            let text = value.stringValue ?? Console.encode(value)
            return Printable.text(name + String(repeating: " ", count: 17 - name.count) + text)
        }
        for entry in members["history"]?.arrayValue ?? [] {
            let words = ["at", "node", "end", "code"].compactMap { entry[$0]?.stringValue }
            let number = "attempt \(entry["attempt"]?.integerValue ?? 0)        "
            lines.append(Printable.text(number + words.joined(separator: "  ")))
        }
        return lines
    }
}
