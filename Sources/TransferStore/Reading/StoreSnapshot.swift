import TransferModel

/// One consistent view of the store; valid only inside the closure that received it.
package class StoreSnapshot {
    let connection: Connection
    /// Sessions that this view was asked for: tasks that are looked at together share them.
    var knownSessions: [SessionKey: SessionRecord] = [:]

    /// What was read or written recently; nil on a connection that only reads.
    let recent: RecentRecords?

    init(_ connection: Connection, recent: RecentRecords? = nil) {
        self.connection = connection
        self.recent = recent
    }

    /// Called before rows are read, so that deferred changes are in them.
    func writeDeferred() throws {}

    func rows<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> Rows {
        try writeDeferred()
        return try connection.rows(sql, repeat each values)
    }

    func rows<each Value: Bindable>(_ sql: SQL, _ values: repeat each Value) throws -> Rows {
        try writeDeferred()
        return try connection.rows(sql, repeat each values)
    }

    func rows(_ sql: String, list values: [any Bindable]) throws -> Rows {
        try writeDeferred()
        return try connection.rows(sql, list: values)
    }

    func integer<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> Int64? {
        try writeDeferred()
        return try connection.integer(sql, repeat each values)
    }

    func text<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> String? {
        try writeDeferred()
        return try connection.text(sql, repeat each values)
    }

    func taskIDs<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> [TaskID] {
        try rows(sql, repeat each values).map { TaskID($0[0] as Int64) }
    }
}
