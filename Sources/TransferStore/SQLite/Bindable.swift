import TransferModel

/// A value that SQLite takes as a parameter of a statement.
protocol Bindable {
    func bind(to statement: Statement, at index: Int32)
}

extension Int64: Bindable {
    func bind(to statement: Statement, at index: Int32) { statement.bind(self, at: index) }
}

extension Int: Bindable {
    func bind(to statement: Statement, at index: Int32) { statement.bind(Int64(self), at: index) }
}

extension UInt32: Bindable {
    func bind(to statement: Statement, at index: Int32) { statement.bind(Int64(self), at: index) }
}

/// A device or an inode, with the same bits.
extension UInt64: Bindable {
    func bind(to statement: Statement, at index: Int32) { statement.bind(Int64(bitPattern: self), at: index) }
}

extension Bool: Bindable {
    func bind(to statement: Statement, at index: Int32) { statement.bind(self ? Int64(1) : 0, at: index) }
}

extension Double: Bindable {
    func bind(to statement: Statement, at index: Int32) { statement.bind(self, at: index) }
}

extension String: Bindable {
    func bind(to statement: Statement, at index: Int32) { statement.bind(self, at: index) }
}

/// Bytes are a BLOB.
extension [UInt8]: Bindable {
    func bind(to statement: Statement, at index: Int32) { statement.bind(self, at: index) }
}

/// nil is NULL, which every parameter is until it is bound.
extension Optional: Bindable where Wrapped: Bindable {
    func bind(to statement: Statement, at index: Int32) { self?.bind(to: statement, at: index) }
}

extension Bindable where Self: RawRepresentable, RawValue: Bindable {
    func bind(to statement: Statement, at index: Int32) { rawValue.bind(to: statement, at: index) }
}

extension TaskID: Bindable {}
extension DecisionID: Bindable {}
extension UserID: Bindable {}
extension SequenceNumber: Bindable {}
extension ByteCount: Bindable {}
extension Seconds: Bindable {}
extension Timestamp: Bindable {}
extension TaskKind: Bindable {}
extension TaskState: Bindable {}
extension WaitReason: Bindable {}
extension BodyRole: Bindable {}
