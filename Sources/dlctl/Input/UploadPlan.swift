import TransferModel

/// Turns what `upload` was given into the specs it sends: pure, so that every combination can be tested.
struct UploadPlan {
    /// As typed; made absolute here.
    var files: [String]
    var url: String
    /// Made from the options; what all tasks share.
    var template = TaskSpec()
    var clientToken: String?
    /// Absolute; what relative paths are seen from.
    var currentFolder: String

    /// - Throws: `CommandFailure.usage` for combinations that mean nothing.
    func specs() throws -> [TaskSpec] {
        guard !files.isEmpty else { throw CommandFailure.usage("name a FILE and the URL it goes to") }
        for file in files { try check(file) }
        guard ListFile.looksLikeURL(url) else {
            throw CommandFailure.usage(
                "'\(Printable.text(url, limit: 60))' is not a URL; the last argument says where the files go")
        }
        if files.count > 1, !namesAreAppended, !sharesURL {
            throw CommandFailure.usage(
                "\(files.count) files would all become \(Printable.text(url, limit: 60)); end the URL in \"/\", "
                    + "or say the --protocol of a server that names them itself (post, multipart, tus, resumable)")
        }
        return files.enumerated().map { index, file in
            var spec = template
            spec.kind = .upload
            spec.url = namesAreAppended ? url + PercentText.encoded(PathText.lastComponent(file)) : url
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

    /// The server makes a resource of its own for each file.
    private var sharesURL: Bool { ["post", "multipart", "tus", "resumable"].contains(template.uploadProtocol ?? "") }

    /// A URL that ends in `/` is a folder, as for curl -T: files keep their names in it.
    private var namesAreAppended: Bool {
        guard url.hasSuffix("/"), !sharesURL else { return false }
        let isHTTP = url.lowercased().hasPrefix("http")
        // Whether `auto` meets a folder or an upload service only the server knows; several files must mean a folder.
        return !isHTTP || files.count > 1 || (template.uploadProtocol ?? "auto") != "auto"
    }
}

/// `NAME=VALUE` on the command line.
struct PairArgument: Hashable {
    var name: String
    var value: String

    init?(_ text: String) {
        guard let mark = text.firstIndex(of: "="), mark != text.startIndex else { return nil }
        name = String(text[..<mark])
        value = String(text[text.index(after: mark)...])
    }
}

extension PercentText {
    /// A file name as one segment of a URL's path (RFC 3986 section 3.3): all but unreserved characters are coded.
    static func encoded(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return text
    }
}
