/// Why a daemon cannot be spoken to; what a daemon answers comes as `TransferError` instead.
public enum ClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nobody listens at this path.
    case noDaemon(socket: String, reason: String)
    /// The daemon went away before it answered; a change may have been made or not.
    case connectionLost(String)
    /// The daemon answered what this client does not understand.
    case protocolMismatch(method: String, reason: String)

    public var description: String {
        switch self {
        case .noDaemon(let socket, let reason): "No daemon at \(socket): \(reason)."
        case .connectionLost(let reason): "The connection to the daemon ended: \(reason)."
        case .protocolMismatch(let method, let reason):
            "The daemon's answer to \(method) is not understood (\(reason)); are both of the same version?"
        }
    }
}
