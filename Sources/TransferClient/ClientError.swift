/// Why a daemon cannot be used. Its refusals are `TransferError`s.
public enum ClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nothing listens at this path.
    case noDaemon(socket: String, reason: String)
    /// A daemon may listen there, but this user has no access.
    case notPermitted(socket: String, reason: String)
    /// The daemon accepts connections but does not answer. A change may or may not have been made.
    case noAnswer(socket: String, method: String, seconds: Int)
    /// The daemon went away before it answered. A change may or may not have been made.
    case connectionLost(String)
    /// This client does not understand the daemon's answer.
    case protocolMismatch(method: String, reason: String)

    public var description: String {
        switch self {
        case .noDaemon(let socket, let reason): "No daemon at \(socket): \(reason)."
        case .notPermitted(let socket, let reason): "No connection to \(socket): \(reason)."
        case .noAnswer(let socket, let method, let seconds):
            """
            The daemon at \(socket) accepts connections but has not answered \(method) for \(seconds) s. It hangs or is \
            stopped: check its log, and end its process if it does not recover.
            """
        case .connectionLost(let reason): "The connection to the daemon ended: \(reason)."
        case .protocolMismatch(let method, let reason):
            "The daemon's answer to \(method) is invalid (\(reason)); are dlctl and dld of the same version?"
        }
    }
}
