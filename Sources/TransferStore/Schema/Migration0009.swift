/// What identifies a delivered file later. Frozen: a change of the schema is a further migration, never an edit of this
/// text.
enum Migration0009 {
    static let identifier = "0009"

    static let sql = """
        ALTER TABLE task ADD COLUMN result_inode INTEGER;
        ALTER TABLE task ADD COLUMN result_changed_ns INTEGER CHECK (result_changed_ns IS NULL OR result_inode IS NOT NULL);
        ALTER TABLE task ADD COLUMN result_crc32c INTEGER
            CHECK (result_crc32c IS NULL OR (result_inode IS NOT NULL AND result_crc32c BETWEEN 0 AND 4294967295));
        """
}
