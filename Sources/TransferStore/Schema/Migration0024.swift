/// The index that finds the events of one task is written only when it is needed: before, every event of every task
/// wrote it, and few are ever requested. Frozen: a change of the schema is a further migration, never an edit of this
/// text.
enum Migration0024 {
    static let identifier = "0024"

    static let sql = """
        DROP INDEX event_task;
        ALTER TABLE event ADD COLUMN filed INTEGER CHECK (filed = 1);
        CREATE INDEX event_task ON event (task) WHERE filed = 1;
        """
}
