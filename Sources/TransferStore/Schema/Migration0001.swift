/// The first shipped schema. Frozen: a change of the schema is a further migration, never an edit of this text.
enum Migration0001 {
    static let sql = """
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
            UNIQUE (owner, identifier)
        ) STRICT;

        CREATE TABLE lane (
            id INTEGER PRIMARY KEY,
            session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            host TEXT NOT NULL,
            queued INTEGER NOT NULL DEFAULT 0 CHECK (queued BETWEEN 0 AND tasks),
            tasks INTEGER NOT NULL DEFAULT 0 CHECK (tasks >= 0),
            head_priority REAL,
            head_position REAL,
            UNIQUE (session, host),
            CHECK ((queued > 0) = (head_priority IS NOT NULL)),
            CHECK ((queued > 0) = (head_position IS NOT NULL))
        ) STRICT;

        CREATE INDEX lane_head ON lane (head_priority DESC, head_position) WHERE queued > 0;

        CREATE TABLE task (
            id INTEGER PRIMARY KEY,
            session INTEGER NOT NULL REFERENCES session (id),
            lane INTEGER NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('download', 'upload', 'data')),
            priority REAL NOT NULL CHECK (priority BETWEEN 0 AND 1),
            position REAL NOT NULL,
            state TEXT NOT NULL
                CHECK (state IN ('queued', 'running', 'waiting', 'paused', 'completed', 'failed', 'cancelled')),
            reason TEXT
                CHECK (reason IN ('retry', 'network', 'schedule', 'disk', 'authentication', 'decision', 'metered')),
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
            CHECK ((state = 'waiting') = (reason IS NOT NULL)),
            CHECK ((state IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
            CHECK (next_attempt_at IS NULL OR state = 'waiting'),
            CHECK (error IS NOT NULL OR state <> 'failed'),
            CHECK (budget_mark IS NULL OR state IN ('queued', 'running', 'waiting')),
            CHECK (expires_at IS NULL OR budget_mark IS NOT NULL),
            CHECK ((result_bytes IS NULL) = (result_verified IS NULL))
        ) STRICT;

        CREATE INDEX task_queue ON task (lane, priority DESC, position, id) WHERE state = 'queued';
        CREATE INDEX task_running ON task (id) WHERE state = 'running';
        CREATE INDEX task_waiting ON task (reason, id) WHERE state = 'waiting';
        CREATE INDEX task_next_attempt ON task (next_attempt_at)
            WHERE state = 'waiting' AND next_attempt_at IS NOT NULL;
        CREATE INDEX task_deadline ON task (deadline_at) WHERE finished_at IS NULL AND deadline_at IS NOT NULL;
        CREATE INDEX task_expiry ON task (expires_at) WHERE finished_at IS NULL AND expires_at IS NOT NULL;
        CREATE INDEX task_history ON task (finished_at) WHERE finished_at IS NOT NULL;
        CREATE INDEX task_by_state ON task (session, state, id);

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
            server_digests TEXT
        ) STRICT;

        CREATE TABLE response (
            task INTEGER PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
            document TEXT NOT NULL
        ) STRICT;

        CREATE TABLE client_token (
            owner INTEGER NOT NULL,
            token TEXT NOT NULL,
            task INTEGER NOT NULL REFERENCES task (id) ON DELETE CASCADE,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (owner, token)
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX client_token_task ON client_token (task);
        CREATE INDEX client_token_age ON client_token (created_at);

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
            payload TEXT
        ) STRICT;

        CREATE INDEX event_final ON event (owner, session, sequence)
            WHERE type IN ('task.completed', 'task.failed', 'task.cancelled');

        CREATE TABLE subscriber (
            owner INTEGER NOT NULL,
            name TEXT NOT NULL CHECK (name <> ''),
            sequence INTEGER NOT NULL CHECK (sequence >= 0),
            PRIMARY KEY (owner, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TRIGGER task_inserted AFTER INSERT ON task BEGIN
            INSERT INTO task_count (session, state, count) VALUES (NEW.session, NEW.state, 1)
                ON CONFLICT (session, state) DO UPDATE SET count = count + 1;
            UPDATE lane SET tasks = tasks + 1, queued = queued + (NEW.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = NEW.lane;
        END;

        CREATE TRIGGER task_deleted AFTER DELETE ON task BEGIN
            UPDATE task_count SET count = count - 1 WHERE session = OLD.session AND state = OLD.state;
            UPDATE lane SET tasks = tasks - 1, queued = queued - (OLD.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = OLD.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = OLD.lane;
            DELETE FROM lane WHERE id = OLD.lane AND tasks = 0;
        END;

        CREATE TRIGGER task_state_changed AFTER UPDATE OF state ON task WHEN NEW.state <> OLD.state BEGIN
            UPDATE task_count SET count = count - 1 WHERE session = OLD.session AND state = OLD.state;
            INSERT INTO task_count (session, state, count) VALUES (NEW.session, NEW.state, 1)
                ON CONFLICT (session, state) DO UPDATE SET count = count + 1;
            UPDATE lane SET queued = queued + (NEW.state = 'queued') - (OLD.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = NEW.lane AND 'queued' IN (NEW.state, OLD.state);
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
        """
}
