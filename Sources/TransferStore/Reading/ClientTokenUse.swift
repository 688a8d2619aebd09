import TransferModel

/// What a client token added.
package struct ClientTokenUse: Sendable, Hashable {
    package var task: TaskID
    /// Of what was asked for; nil if an older dld stored the token.
    package var digest: [UInt8]?
    /// Of the task; of one that was removed the state that it ended in.
    package var state: TaskState
    package var isRemoved: Bool

    /// Bytes of a digest.
    package static let digestLength = 16
}
