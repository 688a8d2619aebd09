/// Names that part files had before they moved. Frozen: a change of the schema is a further migration, never an edit of this
/// text.
enum Migration0010 {
    static let identifier = "0010"

    static let sql = """
        CREATE TABLE moved_part (
            path TEXT NOT NULL PRIMARY KEY,
            task INTEGER NOT NULL,
            owner INTEGER NOT NULL,
            device INTEGER,
            recorded_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX moved_part_by_task ON moved_part (task);
        """
}
