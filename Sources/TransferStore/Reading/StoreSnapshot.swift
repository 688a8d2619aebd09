import GRDB
import TransferModel

/// One consistent view of the store; valid only inside the closure that received it.
package class StoreSnapshot {
    let database: Database
    /// Sessions that this view has been asked for: tasks that are looked at together share them.
    var knownSessions: [SessionKey: SessionRecord] = [:]

    /// What was read or written a moment ago; nil on a connection that only reads.
    let recent: RecentRecords?

    init(_ database: Database, recent: RecentRecords? = nil) {
        self.database = database
        self.recent = recent
    }

    func statement(_ sql: String) throws -> Statement {
        try database.cachedStatement(sql: sql)
    }

    func rows(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> StoredRows {
        try StoredRows(try statement(sql), arguments, in: database)
    }

    func integer(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> Int64? {
        try Int64.fetchOne(try statement(sql), arguments: arguments)
    }

    func taskIDs(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> [TaskID] {
        try Int64.fetchAll(try statement(sql), arguments: arguments).map { TaskID($0) }
    }
}
