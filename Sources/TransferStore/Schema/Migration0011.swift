/// Bodies that ended before their announced length. Frozen: a change of the schema is a further migration, never an edit of
/// this text.
enum Migration0011 {
    static let identifier = "0011"

    static let sql = """
        ALTER TABLE task ADD COLUMN short_body TEXT CHECK (short_body IS NULL OR json_valid(short_body));
        """
}
