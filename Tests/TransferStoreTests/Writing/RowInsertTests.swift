import CSQLite
import Testing

@testable import TransferStore

struct RowInsertTests {
    private static let rows = RowInsert(into: "t", ["id", "number", "word"])

    private func database() throws -> Connection {
        let connection = try Connection(":memory:")
        try connection.execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, number REAL CHECK (number <> 13), word TEXT) STRICT")
        return connection
    }

    @Test(arguments: [0, 1, 7, 8, 9, 63, 64, 65, 200]) func everyRowArrivesWithItsOwnValues(count: Int) throws {
        try database().write { database in
            try Self.rows.run(count, in: database) { row, index in
                row.set(1, Int64(index))
                row.set(2, Double(index) + 100.5)
                // A value that one row leaves out must not come from the row before.
                row.set(3, index % 3 == 0 ? nil : index % 3 == 1 ? "" : "row \(index)")
            }
            let stored = try database.rows("SELECT id, number, word FROM t ORDER BY id").map {
                ($0[0] as Int, $0[1] as Double, $0[2] as String?)
            }
            #expect(stored.count == count)
            for (index, row) in stored.enumerated() {
                #expect(row.0 == index)
                #expect(row.1 == Double(index) + 100.5)
                #expect(row.2 == (index % 3 == 0 ? nil : index % 3 == 1 ? "" : "row \(index)"))
            }
        }
    }

    @Test func aRefusedRowIsAnErrorWithItsCode() throws {
        try database().write { database in
            let error = #expect(throws: SQLiteError.self) {
                try Self.rows.run(10, in: database) { row, index in
                    row.set(1, Int64(index))
                    row.set(2, Double(index) + 6)
                }
            }
            #expect(error?.primaryCode == SQLITE_CONSTRAINT)
            // The statement is undone completely, and can be used again.
            #expect(try database.integer("SELECT count(*) FROM t") == 0)
            try Self.rows.run(8, in: database) { row, index in row.set(1, Int64(index)) }
            #expect(try database.integer("SELECT count(*) FROM t WHERE number IS NULL") == 8)
        }
    }
}
