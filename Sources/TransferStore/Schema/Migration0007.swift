/// Lanes of hosts that are held back, and tasks in them that failed themselves. Frozen: a change of the schema is a
/// further migration, never an edit of this text.
enum Migration0007 {
    static let identifier = "0007"

    static let sql = """
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
        """
}
