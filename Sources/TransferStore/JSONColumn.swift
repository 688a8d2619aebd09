import TransferModel

/// Columns that hold a document that no query searches: JSON text of a model value.
enum JSONColumn {
    static func encode(_ value: some WireValue) -> String {
        String(decoding: JSONCoding.encode(value), as: UTF8.self)
    }

    static func decode<Value: WireValue>(_ text: String, as _: Value.Type = Value.self) throws -> Value {
        do {
            return try JSONCoding.decode(Value.self, from: Array(text.utf8), lenient: true)
        } catch {
            throw TransferError(.internal, "A stored \(Value.self) cannot be read: \(error).")
        }
    }

    /// An object whose members are passed on unchanged.
    static func members(_ text: String) throws -> JSONMembers {
        do {
            return try JSONMembers(stored: text)
        } catch {
            throw TransferError(.internal, "A stored object cannot be read: \(error).")
        }
    }

    /// A stored word of a closed vocabulary.
    static func word<Value: Word>(_ text: String) throws -> Value {
        guard let value = Value(rawValue: text) else {
            throw TransferError(.internal, "The stored word \"\(text)\" is not a \(Value.self).")
        }
        return value
    }
}

/// A value that a column holds as such a document.
protocol Document: Bindable, WireValue {}

extension Document {
    func bind(to statement: Statement, at index: Int32) { JSONColumn.encode(self).bind(to: statement, at: index) }
}

extension TransferError: Document {}
extension ShortBody: Document {}
extension TaskSpec: Document {}
extension UploadProgress: Document {}
extension SessionConfiguration: Document {}
extension ProgramIdentity: Document {}
extension Question: Document {}
extension DecisionAnswer: Document {}
extension SettledDecisions: Document {}
