/// Only unfinished tasks have a turn: the end of a task no longer adds it to the index of turns. Frozen: a change of the
/// schema is a further migration, never an edit of this text.
enum Migration0031 {
    static let identifier = "0031"

    static let sql = """
        DROP INDEX task_by_rank;
        CREATE INDEX task_by_rank ON task (session, state, kind, priority DESC, position, id)
            WHERE state <> 'running' AND state <> 'completed' AND state <> 'failed' AND state <> 'cancelled';
        """
}
