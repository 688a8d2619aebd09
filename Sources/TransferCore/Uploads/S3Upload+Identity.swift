import TransferModel

extension S3Upload {
    /// Whether these URLs lead to the same multipart upload as those of `other`. Compared by `uploadId`, which a store
    /// gives only once, regardless of its host's name; without one, by place. URLs are signed again when those of a
    /// waiting upload have expired.
    package func isSameUpload(as other: S3Upload) -> Bool {
        if let abortURL, abortURL == other.abortURL { return true }
        let (mine, theirs) = (identity, other.identity)
        return mine.id == nil && theirs.id == nil ? mine.place == theirs.place : mine.id == theirs.id
    }

    private var identity: (place: Substring?, id: Substring?) {
        guard let url = partURLs.first else { return (nil, nil) }
        let (place, query) = Self.parted(url)
        return (place, query.split(separator: "&").first { $0.hasPrefix("uploadId=") })
    }

    private static func parted(_ url: String) -> (place: Substring, query: Substring) {
        guard let mark = url.firstIndex(of: "?") else { return (url[...], "") }
        return (url[..<mark], url[url.index(after: mark)...])
    }
}

extension TaskSpec {
    /// The progress of a multipart upload that a client has begun at the store, before any part is sent. With it, the
    /// upload can be ended at the store if the task never runs. nil if there is no URL to end it, and for other
    /// uploads, which begin with their first request.
    package func s3Progress(of source: SourceIdentity?, at now: Timestamp) -> UploadProgress? {
        guard kind == .upload, s3?.abortURL != nil, let url = try? URLRules.parse(url ?? "") else { return nil }
        return UploadProgress(uploadProtocol: .s3Multipart, source: source, createdAt: now).begun(at: url)
    }
}
