/// Client tokens that outlive their tasks and remember the request, tags, and paused sessions. Frozen: a change of the
/// schema is a further migration, never an edit of this text.
enum Migration0014 {
    static let identifier = "0014"

    static let sql = """
        CREATE TABLE remembered_token (
            owner INTEGER NOT NULL,
            token TEXT NOT NULL,
            task INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            digest BLOB CHECK (digest IS NULL OR length(digest) = 16),
            removed_as TEXT CHECK (removed_as IN ('completed', 'failed', 'cancelled')),
            PRIMARY KEY (owner, token, task)
        ) STRICT, WITHOUT ROWID;

        INSERT INTO remembered_token (owner, token, task, created_at)
        SELECT owner, token, task, created_at FROM client_token;

        INSERT OR IGNORE INTO remembered_token (owner, token, task, created_at)
        SELECT session.owner, json_extract(spec, '$.clientToken'), task.id, task.created_at
        FROM task JOIN session ON session.id = task.session
        WHERE CASE WHEN instr(spec, '"clientToken"') > 0 AND json_valid(spec)
            THEN json_type(spec, '$.clientToken') = 'text' ELSE 0 END;

        DROP TABLE client_token;
        ALTER TABLE remembered_token RENAME TO client_token;
        CREATE INDEX client_token_task ON client_token (task);
        CREATE INDEX client_token_removed ON client_token (created_at) WHERE removed_as IS NOT NULL;

        CREATE TRIGGER task_token_kept AFTER DELETE ON task BEGIN
            UPDATE client_token SET removed_as = iif(OLD.finished_at IS NULL, 'cancelled', OLD.state)
                WHERE task = OLD.id;
        END;

        CREATE TABLE task_tag (
            owner INTEGER NOT NULL,
            tag TEXT NOT NULL,
            task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
            PRIMARY KEY (owner, tag, task)
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX task_tag_task ON task_tag (task);

        INSERT OR IGNORE INTO task_tag (owner, tag, task)
        SELECT session.owner, given.value, task.id FROM task JOIN session ON session.id = task.session
        JOIN json_each(
            CASE WHEN instr(spec, '"tags"') > 0 AND json_valid(spec) THEN spec ELSE '{}' END, '$.tags') AS given
        WHERE given.type = 'text';

        ALTER TABLE session ADD COLUMN paused_since INTEGER;
        ALTER TABLE session ADD COLUMN paused_time INTEGER NOT NULL DEFAULT 0 CHECK (paused_time >= 0);
        CREATE INDEX session_paused ON session (id) WHERE paused_since IS NOT NULL;
        """
}
