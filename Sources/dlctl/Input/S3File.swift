import TransferModel

/// A file with the presigned URLs of a multipart upload.
enum S3File {
    /// - Throws: `CommandFailure.usage` with the file and the member at fault.
    static func read(_ path: String) throws -> S3Upload {
        do {
            return try JSONCoding.decode(S3Upload.self, from: Array(try InputFile.read(path)))
        } catch let error as TransferError {
            throw CommandFailure.usage("\(path): \(error.message)")
        }
    }
}
