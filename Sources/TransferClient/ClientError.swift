/// Why a daemon cannot be spoken to; what a daemon answers comes as `TransferError` instead.
public enum ClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nobody listens at this path.
    case noDaemon(socket: String, reason: String)
    /// A daemon may listen there, but this user is kept out.
    case notPermitted(socket: String, reason: String)
    /// The daemon accepts connections and answers nobody; a change may have been made or not.
    case noAnswer(socket: String, method: String, seconds: Int)
    /// The daemon went away before it answered; a change may have been made or not.
    case connectionLost(String)
    /// The daemon answered what this client does not understand.
    case protocolMismatch(method: String, reason: String)

    public var description: String {
        switch self {
        case .noDaemon(let socket, let reason): "No daemon at \(socket): \(reason)."
        case .notPermitted(let socket, let reason): "No connection to \(socket): \(reason)."
        case .noAnswer(let socket, let method, let seconds):
            """
            The daemon at \(socket) accepts connections but has not answered \(method) for \(seconds) s. It hangs or was \
            stopped: look into its log, and end its process if it does not recover.
            """
        case .connectionLost(let reason): "The connection to the daemon ended: \(reason)."
        case .protocolMismatch(let method, let reason):
            "The daemon's answer to \(method) is not understood (\(reason)); are both of the same version?"
        }
    }
}
