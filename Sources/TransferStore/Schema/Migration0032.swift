/// Answers to earlier questions of each task, without their secrets: the same answer may be repeated as long as the task
/// exists. Frozen: a change of the schema is a further migration, never an edit of this text.
enum Migration0032 {
    static let identifier = "0032"

    static let sql = """
        CREATE TABLE earlier_decision (
            id INTEGER PRIMARY KEY,
            task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
            question TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            answer TEXT NOT NULL
        ) STRICT;

        CREATE INDEX earlier_decision_task ON earlier_decision (task, id);
        """
}
