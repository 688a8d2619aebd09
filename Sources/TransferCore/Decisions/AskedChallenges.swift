import TransferModel

/// Which demands for credentials end an attempt, because a client, the store, the helper or Kerberos may answer them.
/// Other demands are the task's answer.
package enum AskedChallenges: Sendable, Hashable {
    case none
    /// Those that Kerberos can answer.
    case negotiate
    case all

    package func include(_ head: ResponseHead) -> Bool {
        switch self {
        case .none: false
        case .negotiate: ProtectionSpace.isAskedFor(head, by: .negotiate)
        case .all: ProtectionSpace.isAskedFor(head)
        }
    }
}
