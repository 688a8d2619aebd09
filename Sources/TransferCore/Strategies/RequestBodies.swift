import TransferModel

/// The request body that the caller gives for downloads and data requests.
enum RequestBodies {
    /// - Parameter source: the open file of the body; if there is one, it is sent.
    /// - Throws: `request.bad_field` if the body is not exactly one of text, base64 and file, or is a file that is not
    ///   open.
    static func payload(of body: RequestBody?, source: SourceIdentity?) throws(TransferError) -> Payload {
        guard let body else { return .none }
        guard [body.text, body.base64, body.file].compactMap({ $0 }).count == 1 else {
            throw bad("body takes exactly one of text, base64 and file.")
        }
        if let source { return .source(offset: 0, length: source.size) }
        if let text = body.text { return .bytes(Array(text.utf8)) }
        guard let base64 = body.base64 else { throw bad("body.file is not open.") }
        guard let bytes = Base64.decode(base64) else { throw bad("body.base64 is not base64.") }
        return .bytes(bytes)
    }

    private static func bad(_ sentence: String) -> TransferError {
        TransferError(.badField, sentence, details: ["field": "body"])
    }
}
