/// Part files to be removed when their disk is back, and the events of one task. Frozen: a change of the schema is a
/// further migration, never an edit of this text.
enum Migration0012 {
    static let identifier = "0012"

    static let sql = """
        CREATE TABLE left_part (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            folder TEXT NOT NULL CHECK (folder <> ''),
            name TEXT NOT NULL CHECK (name <> ''),
            task INTEGER NOT NULL,
            device INTEGER,
            inode INTEGER,
            recorded_at INTEGER NOT NULL,
            PRIMARY KEY (folder, owner, name)
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX event_task ON event (task) WHERE task IS NOT NULL;
        """
}
