import Foundation
import Testing

@testable import TransferStore

/// docs/storage.md names what the schema creates. Both must stay in step.
@Suite struct StorageDocumentTests {
    let fixture = Fixture()

    private func document() throws -> [Substring] {
        let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/storage.md"), encoding: .utf8)
            .split(separator: "\n")
    }

    /// Returns the cells of `| a | b | c |` without back quotes.
    private func cells(_ line: Substring) -> [String] {
        line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().map {
            $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "")
        }
    }

    @Test func tablesAndColumnsAreDocumented() async throws {
        var documented: [String] = []
        var table: String?
        for line in try document() {
            if line.hasPrefix("#") {
                table = line.hasPrefix("### `") ? line.split(separator: "`").dropFirst().first.map(String.init) : nil
            } else if let table, line.hasPrefix("| `") {
                documented.append("\(table).\(cells(line)[0]) \(cells(line)[1])")
            }
        }
        let store = try fixture.open()
        defer { store.close() }
        let made = try store.database.read { database in
            try database.texts(
                """
                SELECT s.name || '.' || c.name || ' ' || c.type FROM sqlite_schema s, pragma_table_info(s.name) c
                WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%'
                ORDER BY s.rowid, c.cid
                """)
        }
        #expect(documented.sorted() == made.sorted())
        #expect(documented.count > 70)
    }

    @Test(arguments: ["index", "trigger"])
    func indicesAndTriggersAreDocumented(_ kind: String) async throws {
        let documented = try document().drop { $0 != (kind == "index" ? "## Indices" : "## Triggers") }.dropFirst()
            .prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| `") }.map { cells($0)[0] }
        let store = try fixture.open()
        defer { store.close() }
        let made = try store.database.read { database in
            try database.texts("SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL", kind)
        }
        #expect(documented.sorted() == made.sorted())
    }
}
