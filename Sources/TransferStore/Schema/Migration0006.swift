/// The mirror that the bytes of a part file come from. Frozen: a change of the schema is a further migration, never an
/// edit of this text.
enum Migration0006 {
    static let identifier = "0006"

    static let sql = """
        ALTER TABLE checkpoint ADD COLUMN origin TEXT CHECK (origin IS NULL OR length(origin) > 0);
        """
}
