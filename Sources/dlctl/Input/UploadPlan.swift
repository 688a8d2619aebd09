import TransferModel

/// Turns the arguments of `upload` into specs. It is pure, so that every combination can be tested.
struct UploadPlan {
    /// As typed. They are made absolute here.
    var files: [String]
    var url: String
    /// Made from the options; shared by all tasks.
    var template = TaskSpec()
    var clientToken: String?
    /// Absolute. The base of relative paths.
    var currentFolder: String

    /// - Throws: `CommandFailure.usage` for combinations that make no sense.
    func specs() throws -> [TaskSpec] {
        guard !files.isEmpty else { throw CommandFailure.usage("name a FILE and the URL it goes to") }
        for file in files { try check(file) }
        guard ListFile.looksLikeURL(url) else {
            throw CommandFailure.usage(
                "'\(Printable.text(url, limit: 60))' is not a URL; the last argument is the URL the files go to")
        }
        if files.count > 1 { try checkSeveral() }
        return files.enumerated().map { index, file in
            var spec = template
            spec.kind = .upload
            spec.url = namesAreAppended ? url + PathSegment.encoded(PathText.lastComponent(file)) : url
            spec.source = SourceFile(path: PathText.absolute(file, in: currentFolder))
            spec.clientToken = clientToken.map { files.count == 1 ? $0 : "\($0)/\(index + 1)" }
            return spec
        }
    }

    private func check(_ file: String) throws {
        if file == "-" {
            throw CommandFailure.usage(
                "standard input cannot be uploaded: the daemon must be able to read the file again, also after this "
                    + "command has ended; save it to a file first")
        }
        if file.isEmpty || file.hasSuffix("/") {
            throw CommandFailure.usage("'\(Printable.text(file, limit: 60))' is not a file")
        }
    }

    private func checkSeveral() throws {
        if template.s3 != nil {
            throw CommandFailure.usage("the URLs of --s3 are those of one object; upload one file with them")
        }
        if template.fileName != nil {
            throw CommandFailure.usage("\(files.count) files cannot all be called what --file-name says")
        }
        guard url.hasSuffix("/") || sharesURL else {
            throw CommandFailure.usage(
                "\(files.count) files would all become \(Printable.text(url, limit: 60)); end the URL in \"/\", "
                    + "or say the --protocol of a server that names them itself (post, multipart, tus, resumable)")
        }
    }

    /// The server creates a separate resource for each file.
    private var sharesURL: Bool { ["post", "multipart", "tus", "resumable"].contains(template.uploadProtocol ?? "") }

    /// A URL that ends in `/` is a folder, as for curl -T: files keep their names in it. If the server must be asked
    /// for the protocol (`auto`), the daemon finds out whether it is a folder, and appends the name itself.
    private var namesAreAppended: Bool {
        guard url.hasSuffix("/"), !sharesURL else { return false }
        return !url.lowercased().hasPrefix("http") || !isAsked
    }

    /// Decided as in the daemon: the protocol is `auto`, by name or by default.
    private var isAsked: Bool {
        guard let name = template.uploadProtocol else { return template.method == nil && template.s3 == nil }
        return name == "auto"
    }
}
