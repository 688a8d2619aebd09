import TransferModel

/// A multipart/form-data body (RFC 7578): first the fields, then the file, so that servers know the fields when it
/// comes.
struct MultipartForm: Sendable {
    let boundary: String
    let payload: Payload

    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    init(_ request: UploadRequest) {
        // Unpredictable, so that no file contains it intentionally; 1 to 70 characters (RFC 2046 section 5.1.1).
        let boundary = "dld-\(request.nonce)"
        var head = ""
        for (name, value) in (request.spec.formFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            head += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted(name))\"\r\n\r\n\(value)\r\n"
        }
        let field = Self.quoted(request.spec.formField ?? "file")
        head += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(field)\"; "
        head += "filename=\"\(Self.quoted(request.fileName))\"\r\n"
        head += "Content-Type: \(request.spec.contentType ?? MediaTypes.guess(request.fileName))\r\n\r\n"
        self.boundary = boundary
        payload = .framed(
            head: Array(head.utf8), offset: 0, length: request.size, tail: Array("\r\n--\(boundary)--\r\n".utf8))
    }

    /// Percent-encodes characters that would end the quoted string or the line; others are sent as UTF-8 (RFC 7578
    /// section 4.2 and the HTML standard).
    static func quoted(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "%22"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
