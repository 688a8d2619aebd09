/// Indexes that serve every order of a listing, and expiry, one section for each session, state and kind. Frozen: a
/// change of the schema is a further migration, never an edit of this text.
enum Migration0004 {
    static let identifier = "0004"

    static let sql = """
        DROP INDEX task_by_state;
        DROP INDEX task_history;
        CREATE INDEX task_by_id ON task (session, state, kind, id);
        CREATE INDEX task_by_rank ON task (session, state, kind, priority DESC, position, id);
        CREATE INDEX task_by_end ON task (session, state, kind, finished_at, id) WHERE finished_at IS NOT NULL;
        """
}
