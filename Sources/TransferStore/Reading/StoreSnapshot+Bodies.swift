import TransferModel

extension StoreSnapshot {
    /// Length of a kept body; nil if there is none.
    package func bodyLength(of id: TaskID, _ role: BodyRole) throws -> ByteCount? {
        try integer(
            "SELECT length(content) FROM body WHERE task = ? AND role = ?", id.rawValue, role.rawValue
        ).map { ByteCount($0) }
    }

    /// A piece of a kept body, shorter where the body ends; nil if there is none.
    package func body(
        of id: TaskID, _ role: BodyRole, from offset: ByteCount = .zero, atMost length: ByteCount? = nil
    ) throws -> [UInt8]? {
        try rows(
            // Of an empty BLOB substr gives NULL.
            "SELECT ifnull(substr(content, ?, ?), x'') FROM body WHERE task = ? AND role = ?",
            // SQLite counts from 1, and no BLOB has 2 GiB; a length beyond the end is cut.
            min(offset.rawValue, Int64(Int32.max)) + 1, length?.rawValue ?? Int64(Int32.max), id.rawValue,
            role.rawValue
        ).next().flatMap { $0[0] as [UInt8]? }
    }
}
