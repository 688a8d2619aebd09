import TransferModel

/// Whether a kept body is a request's or a response's.
package enum BodyRole: String, Sendable, CaseIterable {
    /// What a task sends, copied when it was added.
    case request
    /// What a data task received.
    case response
}

extension StoreTransaction {
    /// Stores how much of an upload its server has; nil forgets it.
    package func setUpload(_ id: TaskID, _ progress: UploadProgress?) throws {
        guard let progress else {
            let statement = try connection.statement(Self.uploadEnd)
            statement.bind(id.rawValue, at: 1)
            return try statement.run()
        }
        try execute(
            "INSERT INTO upload (task, progress) VALUES (?, ?) ON CONFLICT (task) DO UPDATE SET progress = excluded.progress",
            id.rawValue, JSONColumn.encode(progress))
    }

    private static let uploadEnd = SQL("DELETE FROM upload WHERE task = ?")

    /// Stores which file the task sends, and the properties that must not change; nil forgets it.
    package func setSource(_ id: TaskID, _ source: SourceIdentity?) throws {
        guard let source else {
            return try execute("DELETE FROM source WHERE task = ?", id.rawValue)
        }
        try execute(
            """
            INSERT INTO source (task, device, inode, size, modified_ns) VALUES (?, ?, ?, ?, ?) \
            ON CONFLICT (task) DO UPDATE SET device = excluded.device, inode = excluded.inode, size = excluded.size, \
            modified_ns = excluded.modified_ns
            """,
            id.rawValue, Int64(bitPattern: source.device), Int64(bitPattern: source.inode), source.size.rawValue,
            source.modified)
    }

    /// Keeps bytes with the task, as long as it exists; nil drops them.
    /// - Parameter isShown: the task's answer shows them; see `StoredDocument.showsKept`.
    package func setBody(_ id: TaskID, _ role: BodyRole, _ content: [UInt8]?, isShown: Bool = false) throws {
        guard let content else {
            return try execute("DELETE FROM body WHERE task = ? AND role = ?", id.rawValue, role.rawValue)
        }
        if memory.isVolatile { try requireRoom(forBody: content.count, of: id) }
        let statement = try connection.statement(Self.bodyChange)
        statement.bind(id.rawValue, at: 1)
        statement.bind(role.rawValue, at: 2)
        statement.bind(content, at: 3)
        statement.bind(isShown ? Int64(1) : Int64(0), at: 4)
        try statement.runAndClear()
    }

    private static let bodyChange = SQL(
        """
        INSERT INTO body (task, role, content, is_shown) VALUES (?, ?, ?, ?) \
        ON CONFLICT (task, role) DO UPDATE SET content = excluded.content, is_shown = excluded.is_shown
        """)
}
