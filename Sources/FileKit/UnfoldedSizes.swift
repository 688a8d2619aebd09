import Threading
import TransferModel

/// Remembers of coded files that did not fit unfolded how much room they need, so that the disk is not filled again before
/// it is there. After a restart the next attempt finds out anew.
package final class UnfoldedSizes: Sendable {
    package static let longest = 4096

    private let needed = Guarded<[TaskID: ByteCount]>([:])

    package init() {}

    /// - Parameter error: what ended the decoding; nil if it succeeded.
    package func note(_ error: TransferError?, of task: TaskID) {
        let bytes = error?.details[ContentDecoding.neededMember]?.integerValue
        needed.withLock { needed in
            if bytes != nil, needed.count >= Self.longest { needed = [:] }
            needed[task] = bytes.map { ByteCount($0) }
        }
    }

    package var count: Int { needed.withLock(\.count) }

    /// - Throws: `disk.full` if the file of `task` is known not to fit. Blocks.
    package func requireRoom(for task: TaskID, in folder: Folder) throws(TransferError) {
        guard let bytes = needed.withLock({ $0[task] }),
            let free = folder.freeSpace, free < bytes
        else { return }
        throw TransferError(
            .diskFull, "\(folder.path) has no room for the decoded file. Free some; the task resumes by itself.",
            details: [
                "path": .string(folder.path), "free": .integer(free.rawValue),
                ContentDecoding.neededMember: .integer(bytes.rawValue),
            ])
    }
}
