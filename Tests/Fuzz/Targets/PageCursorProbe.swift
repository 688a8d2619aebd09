import TransferModel
import TransferStore

/// Cursors of listings: a cursor of this store is read back as it was written, and a changed byte is noticed. Input: a
/// cursor, or a cursor without its seal, which the target adds.
struct PageCursorProbe: Probe {
    var read: @Sendable (String, TaskOrder) throws -> PageCursor

    static let target = FuzzTarget(
        "page-cursor",
        words: TaskOrder.allCases.map { $0.rawValue + "." } + ["0.0.1.0", ".", "zz", "-1", "+1", "3w5e11264sgsf"],
        PageCursorProbe { try PageCursor($0, order: $1, store: Self.store) },
        // The seal is not checked.
        planted: PageCursorProbe { text, order in
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).prefix(5)
            let sealed = parts.joined(separator: ".") + "." + PageCursor.seal(parts.map(String.init)[...], Self.store)
            return try PageCursor(sealed, order: order, store: Self.store)
        })

    private static let store = "a store's own name"

    func check(_ input: [UInt8]) throws {
        let text = String(decoding: input, as: UTF8.self)
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let sealed = text + "." + PageCursor.seal(parts[...], Self.store)
        for order in TaskOrder.allCases {
            try check(text, order, mayBeTaken: false)
            try check(sealed, order, mayBeTaken: true)
        }
    }

    private func check(_ text: String, _ order: TaskOrder, mayBeTaken: Bool) throws {
        let cursor: PageCursor
        do {
            cursor = try read(text, order)
        } catch let error as TransferError {
            return try hold(error.code == .badField && error.details["field"] == "cursor", "refused as \(error)")
        }
        let written = cursor.text(store: Self.store)
        try hold(mayBeTaken || written == text, "\(shown(text)) is no cursor of this store")
        try hold(cursor.order == order, "a cursor of another order is taken")
        let again = try read(written, order)
        try hold(again.text(store: Self.store) == written, "\(written) comes back otherwise")
    }
}
