import TransferModel

/// The request body of a download (a POST whose answer is the file).
enum RequestBodies {
    /// - Throws: `request.bad_field` where it is none or more than one of text and base64, `request.unsupported` for a file.
    static func bytes(of body: RequestBody?) throws(TransferError) -> [UInt8]? {
        guard let body else { return nil }
        if body.file != nil {
            throw TransferError(
                .unsupported, "body.file comes with uploads; give text or base64.", details: ["field": "body"])
        }
        switch (body.text, body.base64) {
        case (let text?, nil): return Array(text.utf8)
        case (nil, let base64?):
            guard let bytes = Base64.decode(base64) else { throw bad("body.base64 is not base64.") }
            return bytes
        case (nil, nil), (_?, _?): throw bad("body takes exactly one of text, base64 and file.")
        }
    }

    private static func bad(_ sentence: String) -> TransferError {
        TransferError(.badField, sentence, details: ["field": "body"])
    }
}
