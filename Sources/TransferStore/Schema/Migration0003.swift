/// Uploads that are to be ended at their servers. Frozen: a change of the schema is a further migration, never an edit of
/// this text.
enum Migration0003 {
    static let identifier = "0003"

    static let sql = """
        CREATE TABLE upload_ending (
            id INTEGER PRIMARY KEY,
            task INTEGER NOT NULL,
            owner INTEGER NOT NULL,
            session TEXT NOT NULL,
            spec TEXT NOT NULL,
            progress TEXT NOT NULL,
            failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
            recorded_at INTEGER NOT NULL,
            next_attempt_at INTEGER NOT NULL
        ) STRICT;

        CREATE INDEX upload_ending_due ON upload_ending (next_attempt_at, id);
        """
}
