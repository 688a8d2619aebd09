/// When each session's program was last started. Frozen: a change of the schema is a further migration, never an edit
/// of this text.
enum Migration0016 {
    static let identifier = "0016"

    static let sql = """
        CREATE TABLE launch (
            session INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
            started_at INTEGER NOT NULL,
            failures INTEGER NOT NULL CHECK (failures >= 0),
            program TEXT
        ) STRICT;
        """
}
