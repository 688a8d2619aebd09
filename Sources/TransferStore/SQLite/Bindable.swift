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
