import TransferModel

/// Requests that only look take turns: of each user a few are answered at a time, so that one who asks for a thousand
/// pages at once keeps nobody else from theirs.
final class LookTurns: Sendable {
    private let turnstiles = Turnstiles(width: Bounds.looks)

    /// Answers in turn, once the client has room for an answer.
    /// - Throws: `cancelled` if the client goes before; what `body` throws.
    func answer<Value: Sendable>(
        _ user: UserID, on connection: any EventSink, _ body: () async throws -> Value
    ) async throws -> Value {
        let turnstile = turnstiles[UInt64(user.rawValue)]
        while true {
            // Not with a turn in hand: who does not read keeps the user's other clients from nothing.
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
