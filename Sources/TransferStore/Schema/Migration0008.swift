/// Lanes by session, since slots rotate by owner and session. A held lane stays held, whatever task is queued in it.
/// Frozen: a change of the schema is a further migration, never an edit of this text.
enum Migration0008 {
    static let identifier = "0008"

    static let sql = """
        DROP TRIGGER task_again_queued;
        DROP TRIGGER task_again_moved;
        DROP INDEX task_again;
        UPDATE lane SET held = 0 WHERE held = 1;

        DROP INDEX lane_head;
        CREATE INDEX lane_open ON lane (session, head_priority DESC, head_position) WHERE queued > 0 AND held = 0;
        """
}
