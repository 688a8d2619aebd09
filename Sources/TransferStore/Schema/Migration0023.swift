/// Questions to clients: the last one of each task, with what its earlier ones have settled. Frozen: a change of the
/// schema is a further migration, never an edit of this text.
enum Migration0023 {
    static let identifier = "0023"

    static let sql = """
        CREATE TABLE decision (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            task INTEGER NOT NULL UNIQUE REFERENCES task (id) ON DELETE CASCADE,
            state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
            question TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            answer TEXT CHECK ((answer IS NOT NULL) = (state = 'answered')),
            settled TEXT NOT NULL
        ) STRICT;

        CREATE INDEX decision_open ON decision (id) WHERE state = 'open';
        """
}
