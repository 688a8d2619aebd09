import TransferModel

/// Which demands for credentials end an attempt instead of being the task's answer: those that something or somebody may meet.
package enum AskedChallenges: Sendable, Hashable {
    case none
    /// Those that Kerberos can meet.
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
