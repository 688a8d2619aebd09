extension Schema {
    /// All tables of version 1; later versions change them. Frozen once it is released: a change is the text of the
    /// next version.
    static let version1 = """
        CREATE TABLE meta (
            name TEXT PRIMARY KEY NOT NULL,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE counter (
            name TEXT PRIMARY KEY NOT NULL CHECK (name IN ('event', 'task')),
            value INTEGER NOT NULL CHECK (value >= 0)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO counter (name, value) VALUES ('event', 0), ('task', 0);

        CREATE TABLE setting (
            name TEXT PRIMARY KEY NOT NULL,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE session (
            id INTEGER PRIMARY KEY,
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            identifier TEXT NOT NULL CHECK (identifier <> ''),
            kind TEXT NOT NULL CHECK (kind IN ('background', 'default', 'ephemeral')),
            state TEXT NOT NULL CHECK (state IN ('active', 'finishing', 'invalidated')),
            configuration TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            paused_since INTEGER,
            paused_time INTEGER NOT NULL DEFAULT 0 CHECK (paused_time >= 0),
            UNIQUE (owner, identifier)
        ) STRICT;
        CREATE INDEX session_paused ON session (id) WHERE paused_since IS NOT NULL;

        -- Counters exist before they are needed: if a trigger may insert a row into another table, SQLite copies each page
        -- before it changes it.
        CREATE TRIGGER session_inserted AFTER INSERT ON session BEGIN
            INSERT INTO task_count (session, state, count) VALUES (NEW.id, 'queued', 0), (NEW.id, 'running', 0),
                (NEW.id, 'waiting', 0), (NEW.id, 'paused', 0), (NEW.id, 'completed', 0), (NEW.id, 'failed', 0),
                (NEW.id, 'cancelled', 0);
        END;

        CREATE TABLE launch (
            session INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
            started_at INTEGER NOT NULL,
            failures INTEGER NOT NULL CHECK (failures >= 0),
            program TEXT
        ) STRICT;

        CREATE TABLE lane (
            id INTEGER PRIMARY KEY,
            session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            host TEXT NOT NULL,
            queued INTEGER NOT NULL DEFAULT 0 CHECK (queued BETWEEN 0 AND tasks),
            tasks INTEGER NOT NULL DEFAULT 0 CHECK (tasks >= 0),
            head_priority REAL,
            head_position REAL,
            held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
            UNIQUE (session, host),
            CHECK ((queued > 0) = (head_priority IS NOT NULL)),
            CHECK ((queued > 0) = (head_position IS NOT NULL))
        ) STRICT;
        CREATE INDEX lane_held ON lane (host) WHERE held = 1;
        CREATE INDEX lane_open ON lane (session, head_priority DESC, head_position) WHERE queued > 0 AND held = 0;

        -- Words are compared one by one: for a list of more than two words, SQLite builds a table for each row that it
        -- checks.
        CREATE TABLE task (
            id INTEGER PRIMARY KEY,
            session INTEGER NOT NULL REFERENCES session (id),
            lane INTEGER NOT NULL,
            kind TEXT NOT NULL CHECK (kind = 'download' OR kind = 'upload' OR kind = 'data'),
            priority REAL NOT NULL CHECK (priority BETWEEN 0 AND 1),
            position REAL NOT NULL,
            state TEXT NOT NULL
                CHECK (state = 'queued' OR state = 'running' OR state = 'waiting' OR state = 'paused'
                OR state = 'completed' OR state = 'failed' OR state = 'cancelled'),
            reason TEXT
                CHECK (reason = 'retry' OR reason = 'network' OR reason = 'schedule' OR reason = 'disk'
                OR reason = 'authentication' OR reason = 'decision' OR reason = 'metered'),
            next_attempt_at INTEGER,
            error TEXT,
            attempts INTEGER NOT NULL CHECK (attempts >= 0),
            failures_in_row INTEGER NOT NULL CHECK (failures_in_row >= 0),
            integrity_restarts INTEGER NOT NULL CHECK (integrity_restarts >= 0),
            created_at INTEGER NOT NULL,
            started_at INTEGER,
            finished_at INTEGER,
            budget_used REAL NOT NULL CHECK (budget_used >= 0),
            budget_mark INTEGER,
            unresolved_since INTEGER,
            deadline_at INTEGER,
            expires_at INTEGER,
            destination_device INTEGER,
            result_file TEXT,
            result_bytes INTEGER CHECK (result_bytes >= 0),
            result_sha256 TEXT,
            result_verified INTEGER CHECK (result_verified IN (0, 1)),
            url TEXT NOT NULL,
            description TEXT,
            spec TEXT NOT NULL,
            result_inode INTEGER,
            result_changed_ns INTEGER CHECK (result_changed_ns IS NULL OR result_inode IS NOT NULL),
            result_crc32c INTEGER
                CHECK (result_crc32c IS NULL OR (result_inode IS NOT NULL AND result_crc32c BETWEEN 0 AND 4294967295)),
            short_body TEXT CHECK (short_body IS NULL OR json_valid(short_body)),
            sought INTEGER NOT NULL DEFAULT 1 CHECK (sought IN (0, 1)),
            metrics BLOB,
            CHECK ((state = 'waiting') = (reason IS NOT NULL)),
            CHECK ((state = 'completed' OR state = 'failed' OR state = 'cancelled') = (finished_at IS NOT NULL)),
            CHECK (next_attempt_at IS NULL OR state = 'waiting'),
            CHECK (error IS NOT NULL OR state <> 'failed'),
            CHECK (budget_mark IS NULL OR (state = 'queued' OR state = 'running' OR state = 'waiting')),
            CHECK (expires_at IS NULL OR budget_mark IS NOT NULL),
            CHECK ((result_bytes IS NULL) = (result_verified IS NULL))
        ) STRICT;
        CREATE INDEX task_queue ON task (lane, priority DESC, position, id) WHERE state = 'queued';
        CREATE INDEX task_waiting ON task (reason, id) WHERE state = 'waiting';
        CREATE INDEX task_next_attempt ON task (next_attempt_at)
            WHERE state = 'waiting' AND next_attempt_at IS NOT NULL;
        CREATE INDEX task_deadline ON task (deadline_at) WHERE finished_at IS NULL AND deadline_at IS NOT NULL;
        CREATE INDEX task_expiry ON task (expires_at) WHERE finished_at IS NULL AND expires_at IS NOT NULL;
        -- Each order of a listing reads one section for each session, state and kind.
        CREATE INDEX task_by_id ON task (session, state, kind, id);
        CREATE INDEX task_by_end ON task (session, state, kind, finished_at, id) WHERE finished_at IS NOT NULL;
        CREATE INDEX task_url ON task (session, url) WHERE sought = 1 AND kind = 'download' AND finished_at IS NULL;
        -- Only tasks that wait for their turn: running tasks are no more than slots, and are sorted when they are listed.
        CREATE INDEX task_by_rank ON task (session, state, kind, priority DESC, position, id)
            WHERE state <> 'running' AND state <> 'completed' AND state <> 'failed' AND state <> 'cancelled';

        CREATE TRIGGER task_deleted AFTER DELETE ON task BEGIN
            UPDATE task_count SET count = count - 1 WHERE session = OLD.session AND state = OLD.state;
            UPDATE lane SET tasks = tasks - 1, queued = queued - (OLD.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = OLD.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = OLD.lane;
            DELETE FROM lane WHERE id = OLD.lane AND tasks = 0;
        END;

        CREATE TRIGGER task_rank_changed AFTER UPDATE OF priority, position ON task
            WHEN NEW.state = 'queued' AND NEW.lane = OLD.lane
            AND (NEW.priority <> OLD.priority OR NEW.position <> OLD.position)
        BEGIN
            UPDATE lane SET (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = NEW.lane;
        END;

        CREATE TRIGGER task_lane_changed AFTER UPDATE OF lane ON task WHEN NEW.lane <> OLD.lane BEGIN
            UPDATE lane SET tasks = tasks + 1, queued = queued + (NEW.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = NEW.lane;
            UPDATE lane SET tasks = tasks - 1, queued = queued - (NEW.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = OLD.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = OLD.lane;
            DELETE FROM lane WHERE id = OLD.lane AND tasks = 0;
        END;

        CREATE TRIGGER task_token_kept AFTER DELETE ON task BEGIN
            UPDATE client_token SET removed_as = iif(OLD.finished_at IS NULL, 'cancelled', OLD.state)
                WHERE task = OLD.id;
        END;

        CREATE TRIGGER task_inserted AFTER INSERT ON task BEGIN
            UPDATE task_count SET count = count + 1 WHERE session = NEW.session AND state = NEW.state;
            UPDATE lane SET tasks = tasks + 1, queued = queued + (NEW.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = NEW.lane;
        END;

        CREATE TRIGGER task_state_changed AFTER UPDATE OF state ON task WHEN NEW.state <> OLD.state BEGIN
            UPDATE task_count SET count = count - 1 WHERE session = OLD.session AND state = OLD.state;
            UPDATE task_count SET count = count + 1 WHERE session = NEW.session AND state = NEW.state;
            UPDATE lane SET queued = queued + (NEW.state = 'queued') - (OLD.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = NEW.lane AND 'queued' IN (NEW.state, OLD.state);
        END;

        CREATE TABLE checkpoint (
            task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
            part_offset INTEGER NOT NULL CHECK (part_offset >= 0),
            total INTEGER CHECK (total >= 0),
            etag TEXT,
            last_modified TEXT,
            response_date TEXT,
            content_coding TEXT,
            part_path TEXT NOT NULL,
            device INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            server_digests TEXT,
            ranges TEXT
                CHECK (ranges IS NULL OR (total IS NOT NULL AND json_type(ranges) = 'array' AND json_array_length(ranges) > 0)),
            origin TEXT CHECK (origin IS NULL OR length(origin) > 0)
        ) STRICT;

        CREATE TABLE response (
            task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
            document TEXT NOT NULL,
            head TEXT
        ) STRICT;

        CREATE TABLE upload (
            task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
            progress TEXT NOT NULL
        ) STRICT;

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

        CREATE TABLE earlier_decision (
            id INTEGER PRIMARY KEY,
            task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
            question TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            answer TEXT NOT NULL
        ) STRICT;
        CREATE INDEX earlier_decision_task ON earlier_decision (task, id);

        CREATE TABLE trusted_key (
            session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            origin TEXT NOT NULL,
            key TEXT NOT NULL,
            trusted_at INTEGER NOT NULL,
            PRIMARY KEY (session, origin)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE trusted_server (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            host TEXT NOT NULL CHECK (host <> ''),
            port INTEGER NOT NULL,
            key TEXT NOT NULL CHECK (key <> ''),
            trusted_at INTEGER NOT NULL,
            PRIMARY KEY (owner, host, port)
        ) STRICT, WITHOUT ROWID;

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
        CREATE INDEX left_part_task ON left_part (task);

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
            is_shown INTEGER NOT NULL DEFAULT 0 CHECK (is_shown IN (0, 1)),
            UNIQUE (task, role)
        ) STRICT;

        CREATE TABLE client_token (
            owner INTEGER NOT NULL,
            token TEXT NOT NULL,
            task INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            digest BLOB CHECK (digest IS NULL OR length(digest) = 16),
            removed_as TEXT CHECK (removed_as IN ('completed', 'failed', 'cancelled')),
            PRIMARY KEY (owner, token, task)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX client_token_task ON client_token (task);
        CREATE INDEX client_token_removed ON client_token (created_at) WHERE removed_as IS NOT NULL;

        CREATE TABLE task_tag (
            owner INTEGER NOT NULL,
            tag TEXT NOT NULL,
            task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
            PRIMARY KEY (owner, tag, task)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX task_tag_task ON task_tag (task);

        CREATE TABLE task_count (
            session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            state TEXT NOT NULL,
            count INTEGER NOT NULL CHECK (count >= 0),
            PRIMARY KEY (session, state)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE event (
            sequence INTEGER PRIMARY KEY CHECK (sequence >= 1),
            time INTEGER NOT NULL,
            type TEXT NOT NULL CHECK (type <> 'task.progress'),
            owner INTEGER NOT NULL,
            session TEXT NOT NULL,
            task INTEGER,
            payload TEXT,
            filed INTEGER CHECK (filed = 1)
        ) STRICT;
        CREATE INDEX event_final ON event (owner, session, sequence)
            WHERE (type = 'task.completed' OR type = 'task.failed' OR type = 'task.cancelled');
        -- Written only when a client asks for the events of one task (EventFiling).
        CREATE INDEX event_task ON event (task) WHERE filed = 1;

        CREATE TABLE event_owner (
            owner INTEGER PRIMARY KEY,
            count INTEGER NOT NULL CHECK (count >= 0),
            expired INTEGER NOT NULL CHECK (expired >= 0)
        ) STRICT;

        CREATE TABLE subscriber (
            owner INTEGER NOT NULL,
            name TEXT NOT NULL CHECK (name <> ''),
            sequence INTEGER NOT NULL CHECK (sequence >= 0),
            PRIMARY KEY (owner, name)
        ) STRICT, WITHOUT ROWID;

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

        CREATE TABLE hsts_host (
            owner INTEGER NOT NULL CHECK (owner BETWEEN 0 AND 4294967295),
            domain TEXT NOT NULL CHECK (domain <> ''),
            includes_subdomains INTEGER NOT NULL CHECK (includes_subdomains IN (0, 1)),
            learned_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            PRIMARY KEY (owner, domain)
        ) STRICT, WITHOUT ROWID;

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
        """
}
