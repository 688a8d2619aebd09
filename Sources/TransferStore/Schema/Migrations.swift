extension Schema {
    /// In order, with what each one is for. Shipped ones never change (a test holds their fingerprints): a change of the
    /// schema is a further migration.
    static let migrations = texts.map { Migration(identifier: $0.key, sql: $0.value) }

    private static let texts: KeyValuePairs = [
        "0001": Migration0001.sql,
        // Uploads and kept bodies.
        "0002": """
        CREATE TABLE upload (
            task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
            progress TEXT NOT NULL
        ) STRICT;

        CREATE TABLE source (
            task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
            device INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            size INTEGER NOT NULL CHECK (size >= 0),
            modified_ns INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE body (
            id INTEGER PRIMARY KEY,
            task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
            role TEXT NOT NULL CHECK (role IN ('request', 'response')),
            content BLOB NOT NULL,
            UNIQUE (task, role)
        ) STRICT;
        """,
        // Uploads that are to be ended at their servers.
        "0003": """
        CREATE TABLE upload_ending (
            id INTEGER PRIMARY KEY,
            task INTEGER NOT NULL,
            owner INTEGER NOT NULL,
            session TEXT NOT NULL,
            spec TEXT NOT NULL,
            progress TEXT NOT NULL,
            failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
            recorded_at INTEGER NOT NULL,
            next_attempt_at INTEGER NOT NULL
        ) STRICT;

        CREATE INDEX upload_ending_due ON upload_ending (next_attempt_at, id);
        """,
        // Indexes that serve every order of a listing, and expiry, one section for each session, state and kind.
        "0004": """
        DROP INDEX task_by_state;
        DROP INDEX task_history;
        CREATE INDEX task_by_id ON task (session, state, kind, id);
        CREATE INDEX task_by_rank ON task (session, state, kind, priority DESC, position, id);
        CREATE INDEX task_by_end ON task (session, state, kind, finished_at, id) WHERE finished_at IS NOT NULL;
        """,
        // Gaps in part files.
        "0005": """
        ALTER TABLE checkpoint ADD COLUMN ranges TEXT
            CHECK (ranges IS NULL OR (total IS NOT NULL AND json_type(ranges) = 'array' AND json_array_length(ranges) > 0));
        """,
        // The mirror that the bytes of a part file come from.
        "0006": """
        ALTER TABLE checkpoint ADD COLUMN origin TEXT CHECK (origin IS NULL OR length(origin) > 0);
        """,
        // Lanes of hosts that are held back, and tasks in them that failed themselves.
        "0007": """
        ALTER TABLE lane ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1));

        DROP INDEX lane_head;
        CREATE INDEX lane_head ON lane (head_priority DESC, head_position) WHERE queued > 0 AND held = 0;
        CREATE INDEX lane_held ON lane (host) WHERE held = 1;
        CREATE INDEX task_again ON task (lane, priority DESC, position, id) WHERE state = 'queued' AND failures_in_row > 0;

        CREATE TRIGGER task_again_queued AFTER UPDATE OF state ON task
            WHEN NEW.state = 'queued' AND OLD.state <> 'queued' AND NEW.failures_in_row > 0
        BEGIN
            UPDATE lane SET held = 0 WHERE id = NEW.lane AND held = 1;
        END;

        CREATE TRIGGER task_again_moved AFTER UPDATE OF lane ON task
            WHEN NEW.state = 'queued' AND NEW.lane <> OLD.lane AND NEW.failures_in_row > 0
        BEGIN
            UPDATE lane SET held = 0 WHERE id = NEW.lane AND held = 1;
        END;
        """,
        // Lanes by session, since slots rotate by owner and session. A held lane stays held, whatever task is queued in
        // it.
        "0008": """
        DROP TRIGGER task_again_queued;
        DROP TRIGGER task_again_moved;
        DROP INDEX task_again;
        UPDATE lane SET held = 0 WHERE held = 1;

        DROP INDEX lane_head;
        CREATE INDEX lane_open ON lane (session, head_priority DESC, head_position) WHERE queued > 0 AND held = 0;
        """,
        // What identifies a delivered file later.
        "0009": """
        ALTER TABLE task ADD COLUMN result_inode INTEGER;
        ALTER TABLE task ADD COLUMN result_changed_ns INTEGER CHECK (result_changed_ns IS NULL OR result_inode IS NOT NULL);
        ALTER TABLE task ADD COLUMN result_crc32c INTEGER
            CHECK (result_crc32c IS NULL OR (result_inode IS NOT NULL AND result_crc32c BETWEEN 0 AND 4294967295));
        """,
        // Names that part files had before they moved.
        "0010": """
        CREATE TABLE moved_part (
            path TEXT NOT NULL PRIMARY KEY,
            task INTEGER NOT NULL,
            owner INTEGER NOT NULL,
            device INTEGER,
            recorded_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX moved_part_by_task ON moved_part (task);
        """,
        // Bodies that ended before their announced length.
        "0011": """
        ALTER TABLE task ADD COLUMN short_body TEXT CHECK (short_body IS NULL OR json_valid(short_body));
        """,
        // Part files to be removed when their disk is back, and the events of one task.
        "0012": """
        CREATE TABLE left_part (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            folder TEXT NOT NULL CHECK (folder <> ''),
            name TEXT NOT NULL CHECK (name <> ''),
            task INTEGER NOT NULL,
            device INTEGER,
            inode INTEGER,
            recorded_at INTEGER NOT NULL,
            PRIMARY KEY (folder, owner, name)
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX event_task ON event (task) WHERE task IS NOT NULL;
        """,
        // One table for all part files that must be removed: names that part files had before they moved join those of
        // tasks that were given up.
        "0013": """
        INSERT OR IGNORE INTO left_part (owner, folder, name, task, device, inode, recorded_at)
        SELECT owner, coalesce(nullif(rtrim(folder, '/'), ''), '/'), substr(path, length(folder) + 1), task, device, NULL,
            recorded_at
        FROM (SELECT *, rtrim(path, replace(path, '/', '')) AS folder FROM moved_part);

        DROP TABLE moved_part;

        CREATE INDEX left_part_task ON left_part (task);
        """,
        // Client tokens that outlive their tasks and remember the request, tags, and paused sessions.
        "0014": """
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
        """,
        // Downloads by URL, so that a second add of the same URL is noticed.
        "0015": """
        ALTER TABLE task ADD COLUMN sought INTEGER NOT NULL DEFAULT 1 CHECK (sought IN (0, 1));
        CREATE INDEX task_url ON task (session, url) WHERE sought = 1 AND kind = 'download' AND finished_at IS NULL;
        """,
        // When each session's program was last started.
        "0016": """
        CREATE TABLE launch (
            session INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
            started_at INTEGER NOT NULL,
            failures INTEGER NOT NULL CHECK (failures >= 0),
            program TEXT
        ) STRICT;
        """,
        // How many events each owner has, so that retention can remove events of the owner that has most.
        "0018": """
        CREATE TABLE event_owner (
            owner INTEGER PRIMARY KEY,
            count INTEGER NOT NULL CHECK (count >= 0),
            expired INTEGER NOT NULL CHECK (expired >= 0)
        ) STRICT;

        INSERT INTO event_owner (owner, count, expired) SELECT owner, count(*), 0 FROM event GROUP BY owner;
        INSERT OR IGNORE INTO event_owner (owner, count, expired) SELECT DISTINCT owner, 0, 0 FROM session;
        UPDATE event_owner SET expired = coalesce(
            (SELECT min(sequence) - 1 FROM event), (SELECT value FROM counter WHERE name = 'event'), 0);
        """,
        // The rules and the rows do not change, but a change of a task's state costs less. Words are compared one by
        // one: for a list of more than two words, SQLite builds a table for each row that it checks. And counters exist
        // before they are needed: if a trigger may insert a row into another table, SQLite copies each page before it
        // changes it.
        "0019": Migration0019.sql,
        // The whole header of an answer, if it is more than clients are shown.
        "0020": "ALTER TABLE response ADD COLUMN head TEXT;",
        // Running tasks are in two indexes fewer: each claim and each end of a run changed both. There are no more
        // running tasks than slots, so they are found and sorted without these indexes.
        "0021": """
        DROP INDEX task_running;
        DROP INDEX task_by_rank;
        CREATE INDEX task_by_rank ON task (session, state, kind, priority DESC, position, id) WHERE state <> 'running';
        """,
        // The metrics of a task's exchanges.
        "0022": "ALTER TABLE task ADD COLUMN metrics BLOB;",
        // Questions to clients: the last one of each task, with what its earlier ones have settled.
        "0023": """
        CREATE TABLE decision (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            task INTEGER NOT NULL UNIQUE REFERENCES task (id) ON DELETE CASCADE,
            state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
            question TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            answer TEXT CHECK ((answer IS NOT NULL) = (state = 'answered')),
            settled TEXT NOT NULL
        ) STRICT;

        CREATE INDEX decision_open ON decision (id) WHERE state = 'open';
        """,
        // The index that finds the events of one task is written only when it is needed: before, every event of every
        // task wrote it, and few are ever requested.
        "0024": """
        DROP INDEX event_task;
        ALTER TABLE event ADD COLUMN filed INTEGER CHECK (filed = 1);
        CREATE INDEX event_task ON event (task) WHERE filed = 1;
        """,
        // Credentials that clients gave in answers for a whole session.
        "0025": """
        CREATE TABLE session_credential (
            session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            origin TEXT NOT NULL,
            is_proxy INTEGER NOT NULL CHECK (is_proxy IN (0, 1)),
            username TEXT NOT NULL,
            password TEXT NOT NULL,
            method TEXT,
            PRIMARY KEY (session, origin, is_proxy)
        ) STRICT, WITHOUT ROWID;
        """,
        // Keys that sessions trust whatever the verification says.
        "0026": """
        CREATE TABLE trusted_key (
            session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            origin TEXT NOT NULL,
            key TEXT NOT NULL,
            trusted_at INTEGER NOT NULL,
            PRIMARY KEY (session, origin)
        ) STRICT, WITHOUT ROWID;
        """,
        // Cookies of owners, and of sessions that have their own.
        "0027": """
        CREATE TABLE cookie (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            session TEXT NOT NULL,
            domain TEXT NOT NULL CHECK (domain <> ''),
            path TEXT NOT NULL,
            name TEXT NOT NULL,
            host_only INTEGER NOT NULL CHECK (host_only IN (0, 1)),
            value TEXT NOT NULL,
            expires_at INTEGER,
            secure INTEGER NOT NULL CHECK (secure IN (0, 1)),
            http_only INTEGER NOT NULL CHECK (http_only IN (0, 1)),
            same_site TEXT CHECK (same_site IN ('none', 'lax', 'strict')),
            created INTEGER NOT NULL,
            PRIMARY KEY (owner, session, domain, path, name, host_only)
        ) STRICT, WITHOUT ROWID;
        """,
        // Credentials of owners, and those of sessions, which had a table of their own.
        "0028": """
        CREATE TABLE credential (
            id INTEGER PRIMARY KEY,
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            session TEXT NOT NULL,
            protocol TEXT NOT NULL,
            host TEXT NOT NULL CHECK (host <> ''),
            port INTEGER NOT NULL,
            realm TEXT,
            method TEXT,
            is_proxy INTEGER NOT NULL CHECK (is_proxy IN (0, 1)),
            username TEXT NOT NULL,
            password TEXT NOT NULL,
            persistence TEXT NOT NULL CHECK (persistence IN ('session', 'permanent')),
            is_default INTEGER NOT NULL CHECK (is_default IN (0, 1)),
            is_refused INTEGER NOT NULL CHECK (is_refused IN (0, 1))
        ) STRICT;

        CREATE UNIQUE INDEX credential_place ON credential
            (owner, session, host, port, protocol, is_proxy, ifnull(realm, 0), ifnull(method, 0), username);

        INSERT INTO credential (owner, session, protocol, host, port, realm, method, is_proxy, username, password,
            persistence, is_default, is_refused)
        SELECT owner, identifier, substr(origin, 1, instr(origin, '://') - 1),
            trim(rtrim(rtrim(substr(origin, instr(origin, '://') + 3), '0123456789'), ':'), '[]'),
            CAST(replace(origin, rtrim(origin, '0123456789'), '') AS INTEGER), NULL, method, is_proxy, username, password,
            'session', 1, 0
        FROM session_credential JOIN session ON session.id = session_credential.session;

        DROP TABLE session_credential;
        """,
        // Hosts that are reached over https alone.
        "0029": """
        CREATE TABLE hsts_host (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            domain TEXT NOT NULL CHECK (domain <> ''),
            includes_subdomains INTEGER NOT NULL CHECK (includes_subdomains IN (0, 1)),
            learned_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            PRIMARY KEY (owner, domain)
        ) STRICT, WITHOUT ROWID;
        """,
        // Only unfinished tasks have a turn: the end of a task no longer adds it to the index of turns.
        "0031": """
        DROP INDEX task_by_rank;
        CREATE INDEX task_by_rank ON task (session, state, kind, priority DESC, position, id)
            WHERE state <> 'running' AND state <> 'completed' AND state <> 'failed' AND state <> 'cancelled';
        """,
        // Answers to earlier questions of each task, without their secrets: the same answer may be repeated as long as
        // the task exists.
        "0032": """
        CREATE TABLE earlier_decision (
            id INTEGER PRIMARY KEY,
            task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
            question TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            answer TEXT NOT NULL
        ) STRICT;

        CREATE INDEX earlier_decision_task ON earlier_decision (task, id);
        """,
        // Keys that users trust for good, whatever the verification says.
        "0034": """
        CREATE TABLE trusted_server (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            host TEXT NOT NULL CHECK (host <> ''),
            port INTEGER NOT NULL,
            key TEXT NOT NULL CHECK (key <> ''),
            trusted_at INTEGER NOT NULL,
            PRIMARY KEY (owner, host, port)
        ) STRICT, WITHOUT ROWID;
        """,
        // A body that the answer shows is stored once: `is_shown` says that the document of the answer does not have
        // it. Older rows have it in both places.
        "0035": """
        ALTER TABLE body ADD COLUMN is_shown INTEGER NOT NULL DEFAULT 0 CHECK (is_shown IN (0, 1));
        """,
    ]
}
