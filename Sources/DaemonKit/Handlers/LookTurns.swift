import TransferModel

/// Limits how many read-only requests of one user are answered at a time, so that a user who asks for a thousand pages
/// at once does not delay the others.
final class LookTurns: Sendable {
    private let turnstiles = Turnstiles(width: Bounds.looks)

    /// Answers in turn, as soon as the client has room for an answer.
    /// - Throws: `cancelled` if the client goes first; what `body` throws.
    func answer<Value: Sendable>(
        _ user: UserID, on connection: any EventSink, _ body: () async throws -> Value
    ) async throws -> Value {
        let turnstile = turnstiles[UInt64(user.rawValue)]
        while true {
            // Waits without a turn: a client that does not read must not block the user's other clients.
            guard await connection.waitForRoom() else { throw Self.gone }
            await turnstile.enter()
            if !connection.isClosed, connection.queuedBytes <= Bounds.unreadByLookers { break }
            turnstile.leave()
        }
        defer { turnstile.leave() }
        return try await body()
    }

    private static let gone = TransferError(.cancelled, "The client left before it was answered.")
}
