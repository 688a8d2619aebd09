/// Gaps in part files. Frozen: a change of the schema is a further migration, never an edit of this text.
enum Migration0005 {
    static let identifier = "0005"

    static let sql = """
        ALTER TABLE checkpoint ADD COLUMN ranges TEXT
            CHECK (ranges IS NULL OR (total IS NOT NULL AND json_type(ranges) = 'array' AND json_array_length(ranges) > 0));
        """
}
