/// Uploads and kept bodies. Frozen: a change of the schema is a further migration, never an edit of this text.
enum Migration0002 {
    static let identifier = "0002"

    static let sql = """
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
        """
}
