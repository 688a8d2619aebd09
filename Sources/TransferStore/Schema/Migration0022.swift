/// The metrics of a task's exchanges. Frozen: a change of the schema is a further migration, never an edit of this
/// text.
enum Migration0022 {
    static let identifier = "0022"

    static let sql = "ALTER TABLE task ADD COLUMN metrics BLOB;"
}
