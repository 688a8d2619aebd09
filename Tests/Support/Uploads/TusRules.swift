/// tus 1.0.0 with creation and termination (https://tus.io/protocols/resumable-upload).
package struct TusRules: UploadRules {
    package init() {}

    private static let version = ("Tus-Resumable", "1.0.0")

    package func answer(_ request: UploadExchange) throws {
        if request.method == "OPTIONS" {
            return try request.reply(
                204,
                [
                    Self.version, ("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination,checksum"),
                    ("Tus-Checksum-Algorithm", "sha1,sha256"),
                ])
        }
        guard request.header("Tus-Resumable") == "1.0.0" else {
            _ = try request.readAll()
            return try request.reply(412, [("Tus-Version", "1.0.0")])
        }
        switch request.method {
        case "POST": try create(request)
        case "HEAD", "PATCH", "DELETE": try use(request)
        default: try request.reply(405, [Self.version])
        }
    }

    private func create(_ request: UploadExchange) throws {
        guard let length = request.header("Upload-Length").flatMap({ Int($0) }) else {
            return try request.reply(400, [Self.version])
        }
        let path = request.files.create(length: length, metadata: request.header("Upload-Metadata"))
        if length == 0 { request.files.change(path) { $0.isComplete = true } }
        try request.reply(201, [Self.version, ("Location", path)])
    }

    private func use(_ request: UploadExchange) throws {
        let (files, path) = (request.files, request.path)
        guard let known = files[path], !known.isDeleted else { return try request.reply(404, [Self.version]) }
        guard files.claim(path) else { return try request.reply(423, [Self.version]) }
        defer { files.release(path) }
        switch request.method {
        case "HEAD":
            guard let entry = files[path], let length = entry.length else { return try request.reply(404) }
            try request.reply(
                200,
                [
                    Self.version, ("Upload-Offset", "\(entry.bytes.count)"), ("Upload-Length", "\(length)"),
                    ("Cache-Control", "no-store"),
                ])
        case "DELETE":
            files.change(path) { $0.isDeleted = true }
            try request.reply(204, [Self.version])
        default: try append(request)
        }
    }

    private func append(_ request: UploadExchange) throws {
        let (files, path) = (request.files, request.path)
        guard request.header("Content-Type") == "application/offset+octet-stream" else {
            return try request.reply(415, [Self.version])
        }
        guard let entry = files[path], request.header("Upload-Offset") == "\(entry.bytes.count)" else {
            return try request.reply(409, [Self.version])
        }
        try files.append(request, to: path)
        files.change(path) { $0.isComplete = $0.bytes.count == $0.length }
        try request.reply(204, [Self.version, ("Upload-Offset", "\(files[path]?.bytes.count ?? 0)")])
    }
}
