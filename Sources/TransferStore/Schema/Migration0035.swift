/// A body that the answer shows is stored once: `is_shown` says that the document of the answer does not have it. Older
/// rows have it in both places. Frozen: a change of the schema is a further migration, never an edit of this
/// text.
enum Migration0035 {
    static let identifier = "0035"

    static let sql = """
        ALTER TABLE body ADD COLUMN is_shown INTEGER NOT NULL DEFAULT 0 CHECK (is_shown IN (0, 1));
        """
}
