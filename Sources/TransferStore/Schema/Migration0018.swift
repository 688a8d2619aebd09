/// How many events each owner has, so that retention can remove events of the owner that has most. Frozen: a change of
/// the schema is a further migration, never an edit of this text.
enum Migration0018 {
    static let identifier = "0018"

    static let sql = """
        CREATE TABLE event_owner (
            owner INTEGER PRIMARY KEY,
            count INTEGER NOT NULL CHECK (count >= 0),
            expired INTEGER NOT NULL CHECK (expired >= 0)
        ) STRICT;

        INSERT INTO event_owner (owner, count, expired) SELECT owner, count(*), 0 FROM event GROUP BY owner;
        INSERT OR IGNORE INTO event_owner (owner, count, expired) SELECT DISTINCT owner, 0, 0 FROM session;
        UPDATE event_owner SET expired = coalesce(
            (SELECT min(sequence) - 1 FROM event), (SELECT value FROM counter WHERE name = 'event'), 0);
        """
}
