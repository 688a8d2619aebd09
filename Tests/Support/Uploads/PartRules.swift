/// The presigned URLs of one S3 multipart upload: numbered parts, kept only if they are complete, and then the
/// completion, which joins them as `/object`.
package struct PartRules: UploadRules {
    package static let object = "/object"

    /// A signature that becomes invalid after this many parts.
    private let expiring: (signature: String, parts: Int)?

    package init() { expiring = nil }

    package init(expiring signature: String, after parts: Int) { expiring = (signature, parts) }

    package static func partPath(_ number: Int) -> String { "/part/\(number)" }
    package static let completionPath = "/complete"
    package static let abortPath = "/abort"

    package func answer(_ request: UploadExchange) throws {
        let path = String(request.path.prefix { $0 != "?" })
        if let expiring, request.path.hasSuffix(expiring.signature), path.hasPrefix("/part/"),
            Int(path.dropFirst(6)) ?? 0 > expiring.parts
        {
            _ = try request.readAll()
            return try request.reply(403, body: "<Error><Code>AccessDenied</Code><Message>expired</Message></Error>")
        }
        switch (request.method, path) {
        case ("DELETE", Self.abortPath): try request.reply(204)
        case ("PUT", _):
            let bytes = try request.readAll()
            request.files.put(path, bytes)
            try request.reply(200, [("ETag", Self.etag(path, bytes))])
        case ("POST", Self.completionPath): try complete(request)
        default:
            _ = try request.readAll()
            try request.reply(405)
        }
    }

    /// Different for every part and length. S3's own values are opaque too.
    private static func etag(_ path: String, _ bytes: [UInt8]) -> String {
        "\"\(path.split(separator: "/").last ?? "")-\(bytes.count)-\(bytes.first ?? 0)\""
    }

    private func complete(_ request: UploadExchange) throws {
        let parts = String(decoding: try request.readAll(), as: UTF8.self).split(separator: "<Part>").dropFirst()
        var whole: [UInt8] = []
        for (index, part) in parts.enumerated() {
            let path = Self.partPath(index + 1)
            guard part.contains("<PartNumber>\(index + 1)</PartNumber>"), let held = request.files[path],
                part.contains("<ETag>\(Self.escaped(Self.etag(path, held.bytes)))</ETag>")
            else {
                return try request.reply(400, body: "<Error><Code>InvalidPart</Code></Error>")
            }
            whole += held.bytes
        }
        request.files.put(Self.object, whole)
        try request.reply(
            200, [("Content-Type", "application/xml")],
            body: "<CompleteMultipartUploadResult><ETag>&quot;all&quot;</ETag></CompleteMultipartUploadResult>")
    }

    private static func escaped(_ text: String) -> String {
        text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "&quot;")
    }
}
