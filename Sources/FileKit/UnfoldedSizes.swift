import Threading
import TransferModel

/// Remembers how much space coded files need that did not fit when decoded, so that the disk is not filled again before
/// that space is free. After a restart, the next attempt finds it out again.
package final class UnfoldedSizes: Sendable {
    package static let longest = 4096

    private let needed = Guarded<[TaskID: ByteCount]>([:])

    package init() {}

    /// - Parameter error: the error that ended the decoding; nil if it succeeded.
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
