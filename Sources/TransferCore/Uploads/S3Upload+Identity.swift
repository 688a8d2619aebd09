import TransferModel

extension S3Upload {
    /// Whether these URLs lead to the same multipart upload as `other` does: same place, same `uploadId`. They are signed
    /// anew when those that a waiting upload had have expired.
    package func isSameUpload(as other: S3Upload) -> Bool { identity == other.identity }

    private var identity: [String]? {
        partURLs.first.map { url in
            let (place, query) = Self.parted(url)
            let id = query.split(separator: "&").first { $0.hasPrefix("uploadId=") }
            return [String(place), id.map { String($0) } ?? ""]
        }
    }

    private static func parted(_ url: String) -> (place: Substring, query: Substring) {
        guard let mark = url.firstIndex(of: "?") else { return (url[...], "") }
        return (url[..<mark], url[url.index(after: mark)...])
    }
}

extension TaskSpec {
    /// Progress of a multipart upload that a client has begun at the store, before a part is sent; nil for others, which
    /// begin with their first request, and if nobody could end it. It is what ends the upload if the task never runs.
    package func s3Progress(of source: SourceIdentity?, at now: Timestamp) -> UploadProgress? {
        guard kind == .upload, s3?.abortURL != nil, let url = try? URLRules.parse(url ?? "") else { return nil }
        return UploadProgress(uploadProtocol: .s3Multipart, source: source, createdAt: now).begun(at: url)
    }
}
