/// Downloads by URL, so that a second add of the same URL is noticed. Frozen: a change of the schema is a further
/// migration, never an edit of this text.
enum Migration0015 {
    static let identifier = "0015"

    static let sql = """
        ALTER TABLE task ADD COLUMN sought INTEGER NOT NULL DEFAULT 1 CHECK (sought IN (0, 1));
        CREATE INDEX task_url ON task (session, url) WHERE sought = 1 AND kind = 'download' AND finished_at IS NULL;
        """
}
