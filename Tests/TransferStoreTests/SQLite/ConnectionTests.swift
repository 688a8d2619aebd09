import CSQLite
import Testing

@testable import TransferStore

@Suite struct ConnectionTests {
    private func connection() throws -> Connection {
        let connection = try Connection(":memory:")
        try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, value ANY); INSERT INTO t VALUES (1, 'one')")
        return connection
    }

    @Test func everyTypeComesBackAsItWasBound() throws {
        let connection = try connection()
        let row = try #require(
            try connection.rows(
                "SELECT ?, ?, ?, ?, ?, ?, ?", Int64.min, 1.5, "ü\u{0}x", "", [0, 255] as [UInt8], [] as [UInt8],
                nil as Int64?
            ).next())
        #expect(row[0] as Int64 == .min)
        #expect(row[1] as Double == 1.5)
        #expect(row[2] as String == "ü\u{0}x")
        #expect(row[3] as String? == "")
        #expect(row[4] as [UInt8]? == [0, 255])
        #expect(row[5] as [UInt8]? == [])
        #expect(row[6] as Int64? == nil && row[6] as String? == nil && row[6] as [UInt8]? == nil)
    }

    @Test func aStatementForgetsItsValues() throws {
        let connection = try connection()
        try connection.execute("INSERT INTO t VALUES (?, ?)", 2, "two")
        try connection.execute("INSERT INTO t VALUES (?, ?)", 3, nil as String?)
        #expect(try connection.texts("SELECT ifnull(value, 'nothing') FROM t") == ["one", "two", "nothing"])
    }

    @Test func aStatementThatIsBeingReadMayRunAgain() throws {
        let connection = try connection()
        try connection.execute("INSERT INTO t VALUES (2, 'two')")
        let outer = try connection.rows("SELECT id FROM t ORDER BY id")
        #expect(try outer.next()?[0] == 1)
        #expect(try connection.integer("SELECT id FROM t ORDER BY id") == 1)
        #expect(try outer.next()?[0] == 2)
        #expect(try outer.next() == nil)
    }

    @Test func aRefusalHasItsCodeAndLeavesTheStatementUsable() throws {
        let connection = try connection()
        let sql = "INSERT INTO t VALUES (?, ?)"
        let error = #expect(throws: SQLiteError.self) { try connection.execute(sql, 1, "again") }
        #expect(error?.primaryCode == SQLITE_CONSTRAINT && error?.sql == sql)
        #expect(error?.code != error?.primaryCode)
        try connection.execute(sql, 2, "two")
        #expect(try connection.integer("SELECT count(*) FROM t") == 2)
    }

    @Test(arguments: ["", "SELECT 1; SELECT 2", "SELECT \"text\"", "SELECT 1 +"]) func whatIsNoStatementIsRefused(
        sql: String
    ) throws {
        let connection = try connection()
        #expect(throws: SQLiteError.self) { try connection.rows(sql) }
    }

    @Test func aTransactionIsWholeOrNothing() throws {
        let connection = try connection()
        struct Stop: Error {}
        for isKept in [true, false] {
            try connection.writing {
                try connection.execute("INSERT INTO t (value) VALUES ('\(isKept)')")
                return isKept
            }
        }
        #expect(throws: Stop.self) {
            try connection.writing {
                try connection.execute("INSERT INTO t (value) VALUES ('thrown')")
                throw Stop()
            }
        }
        try connection.writing {
            #expect(throws: Stop.self) {
                try connection.savepoint {
                    try connection.execute("INSERT INTO t (value) VALUES ('undone')")
                    throw Stop()
                }
            }
            try connection.savepoint { try connection.execute("INSERT INTO t (value) VALUES ('kept')") }
            return true
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.texts("SELECT value FROM t") == ["one", "true", "kept"])
    }

    @Test func aClosedConnectionRefuses() throws {
        let connection = try connection()
        connection.close()
        connection.close()
        #expect(throws: SQLiteError.self) { try connection.execute("SELECT 1") }
        #expect(throws: SQLiteError.self) { try connection.integer("SELECT 1") }
        #expect(throws: SQLiteError.self) { try connection.checkpoint() }
        connection.releaseMemory()
        #expect(!connection.isInTransaction && connection.dataVersion == nil)
    }

    @Test func whatCannotBeOpenedSaysWhy() {
        let error = #expect(throws: SQLiteError.self) { try Connection("/dev/null/none") }
        #expect(error?.primaryCode == SQLITE_CANTOPEN)
    }
}
