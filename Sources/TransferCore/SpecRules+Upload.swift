import TransferModel

extension SpecRules {
    /// Checks fields of uploads and data tasks.
    /// - Parameter url: the task's; nil if resume data may name it.
    func checkUpload(_ spec: TaskSpec, _ url: ParsedURL?) throws(TransferError) {
        switch spec.kind {
        case .upload: try checkSource(spec)
        case .download, .data: try checkUses(spec, nil)
        }
        if spec.kind == .data, let url, ![.http, .https, .helper].contains(url.scheme) {
            throw bad("url", "data tasks work over http and https, and by helpers, only.")
        }
        try checkFile(spec.source?.path, "source.path")
        try checkText(spec.contentType, "contentType")
        try checkText(spec.fileName, "fileName")
        try checkText(spec.formField, "formField")
        try checkFormFields(spec.formFields)
        if let interop = spec.interopVersion, !ResumableFields.versions.contains(interop) {
            throw bad("interopVersion", "use 3, 5, 6 or 8.")
        }
        if let creation = spec.uploadCreation, !["careful", "optimistic"].contains(creation) {
            throw bad("uploadCreation", "say careful or optimistic.")
        }
        try checkMetadata(spec.uploadMetadata)
    }

    private func checkSource(_ spec: TaskSpec) throws(TransferError) {
        guard (spec.source == nil) != (spec.body == nil) else {
            throw bad("source", "an upload sends either source or body.")
        }
        if spec.source?.path.hasSuffix("/") == true { throw bad("source.path", "name a file, not a folder.") }
        let scheme = try? URLRules.parse(spec.url ?? "").scheme
        let isHTTP = scheme == .http || scheme == .https || scheme == .helper
        if scheme == .file || scheme == .data {
            throw bad("url", "uploads go to http, https, ftp, ftps and sftp.")
        }
        guard isHTTP else {
            if let name = spec.uploadProtocol, name != "auto" {
                throw bad("uploadProtocol", "\(name) is for http and https; leave it out here.")
            }
            try checkUses(spec, .file)
            if spec.uploadChecksum != nil { throw bad("uploadChecksum", "FTP and SFTP have no place for it.") }
            return
        }
        let kind: UploadProtocol?
        do throws(TransferError) {
            kind = try UploadProtocol.chosen(by: spec)
        } catch {
            throw bad("uploadProtocol", "give one of \(UploadProtocol.names.joined(separator: ", ")).")
        }
        if scheme == .helper, let kind, ![.put, .post, .multipart].contains(kind) {
            throw bad("uploadProtocol", "helpers take put, post and multipart.")
        }
        try check(spec, kind)
    }

    /// - Parameter kind: nil for `auto`.
    private func check(_ spec: TaskSpec, _ kind: UploadProtocol?) throws(TransferError) {
        try checkUses(spec, kind)
        if let method = spec.method?.uppercased(), ["GET", "HEAD", "CONNECT", "TRACE"].contains(method) {
            throw bad("method", "\(method) carries no file.")
        }
        try checkDigest(spec.uploadChecksum, kind)
        guard kind == .s3Multipart else { return }
        guard let s3 = spec.s3 else { throw bad("s3", "s3Multipart needs partURLs, partSize and completeURL.") }
        guard s3.partSize > 0 else { throw bad("s3.partSize", "at least 1.") }
        guard (1...Bounds.s3Parts).contains(s3.partURLs.count) else {
            throw bad("s3.partURLs", "1 to \(Bounds.s3Parts) of them.")
        }
        for (index, url) in s3.partURLs.enumerated() { try checkHTTP(url, "s3.partURLs[\(index)]") }
        try checkHTTP(s3.completeURL, "s3.completeURL")
        if let url = s3.abortURL { try checkHTTP(url, "s3.abortURL") }
    }

    /// RFC 9530 section 5 has only two active algorithms; tus servers offer algorithms of their own.
    private func checkDigest(_ algorithm: DigestAlgorithm?, _ kind: UploadProtocol?) throws(TransferError) {
        guard let algorithm else { return }
        switch kind {
        case .s3Multipart?: throw bad("uploadChecksum", "presigned parts have no place for it.")
        case .tus?: return
        case .put?, .post?, .multipart?, .contentRange?, .resumable?, .file?, nil:
            guard algorithm == .sha256 || algorithm == .sha512 else {
                throw bad("uploadChecksum", "Repr-Digest and Content-Digest take sha-256 and sha-512.")
            }
        }
    }

    private func checkText(_ text: String?, _ field: String) throws(TransferError) {
        guard let text else { return }
        guard !text.isEmpty, text.utf8.count <= Bounds.text, URLRules.firstControl(text) == nil else {
            throw bad(field, "1 to \(Bounds.text) bytes without control characters.")
        }
    }

    private func checkFormFields(_ fields: [String: String]?) throws(TransferError) {
        guard let fields else { return }
        guard fields.count <= Bounds.formFields, Self.bytes(of: fields) <= Bounds.formFieldBytes else {
            throw bad(
                "formFields",
                "at most \(Bounds.formFields), with \(Bounds.formFieldBytes) bytes of names and values in total.")
        }
    }

    private static func bytes(of texts: [String: String]) -> Int {
        texts.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    /// Keys of Upload-Metadata are ASCII, without blanks and commas.
    private func checkMetadata(_ metadata: [String: String]?) throws(TransferError) {
        guard let metadata else { return }
        guard Self.bytes(of: metadata) <= Bounds.metadataBytes else {
            throw bad("uploadMetadata", "at most \(Bounds.metadataBytes) bytes of names and values in total.")
        }
        for key in metadata.keys.sorted() {
            guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 32 && $0 < 127 && $0 != 44 }) else {
                throw bad(
                    "uploadMetadata", "\"\(key.prefix(40))\" is not a valid key; use ASCII without blanks and commas.")
            }
        }
    }

    private func checkHTTP(_ url: String, _ field: String) throws(TransferError) {
        let scheme = try parsed(url, field).scheme
        guard scheme == .http || scheme == .https else { throw bad(field, "an http or https URL.") }
    }
}
