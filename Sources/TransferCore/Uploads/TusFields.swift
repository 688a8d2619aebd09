import TransferModel

/// What a tus server says about itself in answer to OPTIONS.
struct TusCapabilities: Sendable, Hashable {
    var extensions: Set<String>
    /// nil if the server sets no limit.
    var longestUpload: ByteCount?
    var checksumAlgorithms: Set<String>

    init(_ head: ResponseHead) {
        extensions = Self.list(head, "tus-extension")
        longestUpload = head.count("tus-max-size")
        checksumAlgorithms = Self.list(head, "tus-checksum-algorithm")
    }

    /// - Throws: permanently if the server cannot accept this upload.
    func check(_ request: UploadRequest) throws(AttemptFailure) {
        if let longestUpload, request.size > longestUpload {
            throw .permanent(
                .tooLarge, "The server accepts uploads of at most \(longestUpload) bytes; the file has \(request.size)."
            )
        }
        guard let algorithm = request.spec.uploadChecksum else { return }
        guard checksumAlgorithms.contains(PayloadDigest.tusName(algorithm)) else {
            let offered = checksumAlgorithms.sorted().joined(separator: ", ")
            throw .permanent(
                .badField,
                "uploadChecksum: the server does not verify \(algorithm.rawValue); it offers \(offered.isEmpty ? "none" : offered)."
            )
        }
    }

    private static func list(_ head: ResponseHead, _ name: String) -> Set<String> {
        Set(head.values(name).flatMap { $0.split(separator: ",") }.map { $0.trimmed.lowercased() })
    }
}

/// Upload-Metadata: `key base64,key base64`.
enum TusMetadata {
    /// nil if the caller wants none (an empty map). Name and type of the file are added if the caller does not give
    /// them: some servers refuse even HEAD without them.
    static func field(_ request: UploadRequest) -> String? {
        if request.spec.uploadMetadata?.isEmpty == true { return nil }
        var pairs = request.spec.uploadMetadata ?? [:]
        pairs["filename"] = pairs["filename"] ?? request.fileName
        pairs["filetype"] = pairs["filetype"] ?? request.contentType ?? MediaTypes.guess(request.fileName)
        let members = pairs.sorted { $0.key < $1.key }.map { key, value in
            value.isEmpty ? key : "\(key) \((Array(value.utf8)).base64)"
        }
        return members.joined(separator: ",")
    }
}
