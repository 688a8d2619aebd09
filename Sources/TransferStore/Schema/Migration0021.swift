/// Running tasks are in two indexes fewer: each claim and each end of a run changed both. There are no more running
/// tasks than slots, so they are found and sorted without these indexes. Frozen: a change of the schema is a further
/// migration, never an edit of this text.
enum Migration0021 {
    static let identifier = "0021"

    static let sql = """
        DROP INDEX task_running;
        DROP INDEX task_by_rank;
        CREATE INDEX task_by_rank ON task (session, state, kind, priority DESC, position, id) WHERE state <> 'running';
        """
}
