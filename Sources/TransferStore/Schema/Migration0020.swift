/// The whole header of an answer, if it is more than clients are shown. Frozen: a change of the schema is a further
/// migration, never an edit of this text.
enum Migration0020 {
    static let identifier = "0020"

    static let sql = "ALTER TABLE response ADD COLUMN head TEXT;"
}
