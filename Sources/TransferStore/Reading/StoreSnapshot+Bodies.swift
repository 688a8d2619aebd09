import TransferModel

/// A body that the store keeps.
package struct KeptBody: Hashable, Sendable {
    package var size: ByteCount
    /// nil if it is too long to show.
    package var content: [UInt8]?

    package init(size: ByteCount, content: [UInt8]? = nil) {
        self.size = size
        self.content = content
    }
}

extension StoreSnapshot {
    /// The header of the last answer; nil if all of it is shown elsewhere, or none arrived.
    package func wholeHead(of id: TaskID) throws -> WholeHead? {
        try text("SELECT head FROM response WHERE task = ? AND head IS NOT NULL", id.rawValue)
            .map { try JSONColumn.decode($0) }
    }

    /// A kept body of at most `limit` bytes; of a longer one only its length; nil if there is none.
    package func body(of id: TaskID, _ role: BodyRole, showing limit: ByteCount) throws -> KeptBody? {
        guard let size = try bodyLength(of: id, role) else { return nil }
        return KeptBody(size: size, content: size > limit ? nil : try body(of: id, role))
    }

    /// Length of a kept body; nil if there is none.
    package func bodyLength(of id: TaskID, _ role: BodyRole) throws -> ByteCount? {
        try integer(
            "SELECT length(content) FROM body WHERE task = ? AND role = ?", id.rawValue, role.rawValue
        ).map { ByteCount($0) }
    }

    /// A part of a kept body, shorter at its end; nil if there is no body.
    package func body(
        of id: TaskID, _ role: BodyRole, from offset: ByteCount = .zero, atMost length: ByteCount? = nil
    ) throws -> [UInt8]? {
        try rows(
            // For an empty BLOB, substr returns NULL.
            "SELECT ifnull(substr(content, ?, ?), x'') FROM body WHERE task = ? AND role = ?",
            // SQLite counts from 1, and no BLOB reaches 2 GiB; SQLite cuts a length beyond the end.
            min(offset.rawValue, Int64(Int32.max)) + 1, length?.rawValue ?? Int64(Int32.max), id.rawValue,
            role.rawValue
        ).next().flatMap { $0[0] as [UInt8]? }
    }
}
