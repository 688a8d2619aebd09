import Threading

/// The text of a statement that runs so often that a connection finds it by number. Keep it in a `static let`: each
/// value is another statement.
struct SQL: Sendable {
    let text: String
    let number: Int

    init(_ text: String) {
        self.text = text
        number = Self.last.withLock { last in
            last += 1
            return last
        }
    }

    private static let last = Guarded(-1)
}
