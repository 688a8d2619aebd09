import TransferModel

/// Whether the next run could continue what a run has done so far; if not, a stop loses all of it.
package enum ResumeProspects {
    /// A download with an accepted answer.
    package static func mayResume(
        _ spec: Boxed<TaskSpec>, _ head: ResponseHead, _ acceptance: Acceptance
    ) -> Bool {
        let trustedDigest =
            spec.wrappedValue.checksum != nil || spec.wrappedValue.pieces != nil || !acceptance.serverDigests.isEmpty
        guard head.status != nil else {
            // FTP, SFTP, file: size and modification time are the validators. A data URL has neither.
            return acceptance.total != nil && (trustedDigest || acceptance.validators.lastModified != nil)
        }
        guard RequestHeaders.method(spec.wrappedValue.method, hasBody: spec.wrappedValue.body != nil) == "GET" else {
            return false
        }
        // Servers without ranges mostly say nothing; servers with ranges say so.
        guard head.status == 206 || head.offersRanges else { return false }
        var held = HeldBytes(acceptance, offset: max(1, acceptance.offset), trustedDigest: trustedDigest)
        held.total = nil
        return held.rangeRequest != nil
    }

    /// An upload or data task whose `exchange` is about to be performed.
    package static func mayResume(_ kind: TaskKind, _ exchange: Exchange, _ progress: UploadProgress?) -> Bool {
        switch kind {
        case .data: return false
        case .upload, .download: break
        }
        if progress?.awaitsAnswer == true { return false }
        guard exchange.payload.length ?? 0 > 0 else { return true }
        switch progress?.uploadProtocol {
        case .put?, .post?, .multipart?, nil: return false
        case .contentRange?, .tus?, .resumable?, .s3Multipart?, .file?: return true
        }
    }
}

extension ResponseHead {
    /// The server says that it accepts range requests for this (RFC 9110 section 14.3).
    fileprivate var offersRanges: Bool {
        values("accept-ranges").contains { field in
            field == "bytes"
                || field.utf8.split(separator: UInt8(ascii: ",")).contains {
                    Substring($0).trimmed.lowercased() == "bytes"
                }
        }
    }
}
