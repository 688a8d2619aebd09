import TransferModel

/// Whether the next run could continue what a run has done so far; if not, a stop loses all of it.
extension Acceptance {
    /// A download with this accepted answer.
    package func mayResume(_ spec: Boxed<TaskSpec>, _ head: ResponseHead) -> Bool {
        let trustedDigest =
            spec.wrappedValue.checksum != nil || spec.wrappedValue.pieces != nil || !serverDigests.isEmpty
        guard head.status != nil else {
            // FTP, SFTP, file: size and modification time are the validators. A data URL has neither.
            return total != nil && (trustedDigest || validators.lastModified != nil)
        }
        guard RequestHeaders.method(spec.wrappedValue.method, hasBody: spec.wrappedValue.body != nil) == "GET" else {
            return false
        }
        // Servers without ranges mostly say nothing; servers with ranges say so.
        guard head.status == 206 || head.list("accept-ranges").contains("bytes") else { return false }
        var held = HeldBytes(self, offset: max(1, offset), trustedDigest: trustedDigest)
        held.total = nil
        return held.rangeRequest != nil
    }
}

extension Exchange {
    /// An upload or data task whose exchange this is, which is about to be performed.
    package func mayResume(_ kind: TaskKind, _ progress: UploadProgress?) -> Bool {
        switch kind {
        case .data: return false
        case .upload, .download: break
        }
        if progress?.awaitsAnswer == true { return false }
        guard payload.length ?? 0 > 0 else { return true }
        switch progress?.uploadProtocol {
        case .put?, .post?, .multipart?, nil: return false
        case .contentRange?, .tus?, .resumable?, .s3Multipart?, .file?: return true
        }
    }
}
