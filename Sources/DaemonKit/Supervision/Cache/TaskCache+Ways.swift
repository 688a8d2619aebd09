import CurlEngine
import TransferCore

extension TaskCache {
    /// What happens to a request.
    enum Way: Sendable {
        case send(Exchange)
        /// Answered by a stored answer, as if the exchange had brought it.
        case answered(ExchangeOutcome)
        case miss
    }

    /// The result of an exchange.
    enum Ending: Sendable {
        case outcome(ExchangeOutcome)
        /// The server confirmed another version than the stored one, so it is asked again without conditions.
        case again(Exchange)
        /// A client decides where the answer is stored. After that, `decided` must be called.
        case asks(ExchangeOutcome, HeldAnswer)
    }
}
