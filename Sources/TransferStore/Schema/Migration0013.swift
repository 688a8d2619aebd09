/// One table for all part files that must be removed: names that part files had before they moved join those of tasks
/// that were given up. Frozen: a change of the schema is a further migration, never an edit of this text.
enum Migration0013 {
    static let identifier = "0013"

    static let sql = """
        INSERT OR IGNORE INTO left_part (owner, folder, name, task, device, inode, recorded_at)
        SELECT owner, coalesce(nullif(rtrim(folder, '/'), ''), '/'), substr(path, length(folder) + 1), task, device, NULL,
            recorded_at
        FROM (SELECT *, rtrim(path, replace(path, '/', '')) AS folder FROM moved_part);

        DROP TABLE moved_part;

        CREATE INDEX left_part_task ON left_part (task);
        """
}
