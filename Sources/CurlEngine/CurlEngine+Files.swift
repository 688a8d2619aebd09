import Glibc
import TransferCore
import TransferModel

/// Opening files, off the cooperative pool.
extension CurlEngine {
    /// `PartFile.create` off the cooperative pool.
    package func createPart(
        path: String, directory: Int32? = nil, replacing: Bool = false
    ) async throws(TransferError) -> PartFile {
        let result: Result<PartFile, TransferError> = await errand {
            Result { () throws(TransferError) in
                try PartFile.create(path: path, directory: directory, replacing: replacing)
            }
        }
        return try result.get()
    }

    /// `PartFile.reopen` with this engine's journal, off the cooperative pool.
    package func reopenPart(
        _ checkpoint: Checkpoint, task: TaskID, directory: Int32? = nil
    ) async throws(TransferError) -> (part: PartFile, provenOffset: ByteCount)? {
        let journal = self.journal
        let result: Result<(part: PartFile, provenOffset: ByteCount)?, TransferError> = await errand {
            Result { () throws(TransferError) in
                try PartFile.reopen(checkpoint, task: task, journal: journal, directory: directory)
            }
        }
        return try result.get()
    }

    /// `UploadSource.open` off the cooperative pool.
    package func openSource(path: String) async throws(TransferError) -> UploadSource {
        let result: Result<UploadSource, TransferError> = await errand {
            Result { () throws(TransferError) in try UploadSource.open(path: path) }
        }
        return try result.get()
    }

    /// `UploadSource.identityNow` off the cooperative pool.
    package func identity(of source: UploadSource) async -> SourceIdentity? {
        await errand { source.identityNow() }
    }
}
