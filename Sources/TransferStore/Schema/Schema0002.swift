extension Schema {
    /// The waits `power` and `portal`. Only the text of a CHECK constraint changes, so no row is touched
    /// (https://www.sqlite.org/lang_altertable.html section 7). Other connections read the schema anew because its number,
    /// about 56 before, is another one.
    static let version2 = """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(
            sql, 'OR reason = ''metered''', 'OR reason = ''metered'' OR reason = ''power'' OR reason = ''portal''')
            WHERE type = 'table' AND name = 'task';
        PRAGMA schema_version = 1000;
        PRAGMA writable_schema = RESET;
        """
}
