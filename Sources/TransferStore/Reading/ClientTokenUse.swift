import TransferModel

/// What was added with a client token.
package struct ClientTokenUse: Sendable, Hashable {
    package var task: TaskID
    /// Of the request; nil if an older dld stored the token.
    package var digest: [UInt8]?
    /// Of the task; if it was removed, the state in which it ended.
    package var state: TaskState
    package var isRemoved: Bool

    /// Bytes of a digest.
    package static let digestLength = 16
}
