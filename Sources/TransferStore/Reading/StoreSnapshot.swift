import GRDB
import TransferModel

/// One consistent view of the store; valid only inside the closure that received it.
package class StoreSnapshot {
    let database: Database
    /// Sessions that this view has been asked for: tasks that are looked at together share them.
    var knownSessions: [SessionKey: SessionRecord] = [:]

    init(_ database: Database) {
        self.database = database
    }

    func statement(_ sql: String) throws -> Statement {
        try database.cachedStatement(sql: sql)
    }

    func integer(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> Int64? {
        try Int64.fetchOne(try statement(sql), arguments: arguments)
    }

    func taskIDs(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> [TaskID] {
        try Int64.fetchAll(try statement(sql), arguments: arguments).map { TaskID($0) }
    }
}
