/// The rules and the rows do not change, but a change of a task's state costs less. Words are compared one by one: for
/// a list of more than two words, SQLite builds a table for each row that it checks. And counters exist before they are
/// needed: if a trigger may insert a row into another table, SQLite copies each page before it changes it. Frozen: a
/// change of the schema is a further migration, never an edit of this text.
enum Migration0019 {
    static let sql = """
        PRAGMA writable_schema = ON;

        UPDATE sqlite_schema SET sql = replace(sql,
            'CHECK (kind IN (''download'', ''upload'', ''data''))',
            'CHECK (kind = ''download'' OR kind = ''upload'' OR kind = ''data'')')
            WHERE type = 'table' AND name = 'task';
        UPDATE sqlite_schema SET sql = replace(sql,
            'CHECK (state IN (''queued'', ''running'', ''waiting'', ''paused'', ''completed'', ''failed'', ''cancelled''))',
            'CHECK (state = ''queued'' OR state = ''running'' OR state = ''waiting'' OR state = ''paused''
                OR state = ''completed'' OR state = ''failed'' OR state = ''cancelled'')')
            WHERE type = 'table' AND name = 'task';
        UPDATE sqlite_schema SET sql = replace(sql,
            'CHECK (reason IN (''retry'', ''network'', ''schedule'', ''disk'', ''authentication'', ''decision'', ''metered''))',
            'CHECK (reason = ''retry'' OR reason = ''network'' OR reason = ''schedule'' OR reason = ''disk''
                OR reason = ''authentication'' OR reason = ''decision'' OR reason = ''metered'')')
            WHERE type = 'table' AND name = 'task';
        UPDATE sqlite_schema SET sql = replace(sql,
            '(state IN (''completed'', ''failed'', ''cancelled''))',
            '(state = ''completed'' OR state = ''failed'' OR state = ''cancelled'')')
            WHERE type = 'table' AND name = 'task';
        UPDATE sqlite_schema SET sql = replace(sql,
            'state IN (''queued'', ''running'', ''waiting'')',
            '(state = ''queued'' OR state = ''running'' OR state = ''waiting'')')
            WHERE type = 'table' AND name = 'task';
        UPDATE sqlite_schema SET sql = replace(sql,
            'type IN (''task.completed'', ''task.failed'', ''task.cancelled'')',
            '(type = ''task.completed'' OR type = ''task.failed'' OR type = ''task.cancelled'')')
            WHERE type = 'index' AND name = 'event_final';

        PRAGMA writable_schema = RESET;

        CREATE TRIGGER session_inserted AFTER INSERT ON session BEGIN
            INSERT INTO task_count (session, state, count) VALUES (NEW.id, 'queued', 0), (NEW.id, 'running', 0),
                (NEW.id, 'waiting', 0), (NEW.id, 'paused', 0), (NEW.id, 'completed', 0), (NEW.id, 'failed', 0),
                (NEW.id, 'cancelled', 0);
        END;
        INSERT OR IGNORE INTO task_count (session, state, count) SELECT session.id, word.state, 0 FROM session,
            (SELECT 'queued' AS state UNION ALL SELECT 'running' UNION ALL SELECT 'waiting' UNION ALL SELECT 'paused'
            UNION ALL SELECT 'completed' UNION ALL SELECT 'failed' UNION ALL SELECT 'cancelled') AS word;

        DROP TRIGGER task_inserted;
        CREATE TRIGGER task_inserted AFTER INSERT ON task BEGIN
            UPDATE task_count SET count = count + 1 WHERE session = NEW.session AND state = NEW.state;
            UPDATE lane SET tasks = tasks + 1, queued = queued + (NEW.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = NEW.lane;
        END;

        DROP TRIGGER task_state_changed;
        CREATE TRIGGER task_state_changed AFTER UPDATE OF state ON task WHEN NEW.state <> OLD.state BEGIN
            UPDATE task_count SET count = count - 1 WHERE session = OLD.session AND state = OLD.state;
            UPDATE task_count SET count = count + 1 WHERE session = NEW.session AND state = NEW.state;
            UPDATE lane SET queued = queued + (NEW.state = 'queued') - (OLD.state = 'queued'), (head_priority, head_position) = (
                SELECT priority, position FROM task WHERE lane = NEW.lane AND state = 'queued'
                ORDER BY priority DESC, position, id LIMIT 1)
                WHERE id = NEW.lane AND 'queued' IN (NEW.state, OLD.state);
        END;
        """
}
