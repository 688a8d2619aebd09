/// Resumable uploads as draft-ietf-httpbis-resumable-upload has them, of one interop version.
package struct DraftRules: UploadRules {
    package let version: Int

    package init(version: Int) { self.version = version }

    package func answer(_ request: UploadExchange) throws {
        switch request.method {
        case "OPTIONS": try request.reply(204, [("Upload-Limit", "min-size=0")])
        case "POST", "PUT": try create(request)
        case "HEAD", "PATCH", "DELETE": try use(request)
        default: try request.reply(405)
        }
    }

    private func isSpoken(_ request: UploadExchange) -> Bool {
        request.header("Upload-Draft-Interop-Version") == "\(version)"
    }

    private func create(_ request: UploadExchange) throws {
        guard isSpoken(request), let completes = request.header("Upload-Complete") else {
            // Nobody speaks the draft: a plain request.
            request.files.put(request.path, try request.readAll())
            return try request.reply(200)
        }
        let path = request.files.create(
            length: request.header("Upload-Length").flatMap { Int($0) } ?? (completes == "?1" ? request.length : nil))
        try request.files.append(request, to: path)
        if completes == "?1" { request.files.change(path) { $0.isComplete = true } }
        try request.reply(
            201,
            [
                ("Location", path), ("Upload-Offset", "\(request.files[path]?.bytes.count ?? 0)"),
                ("Upload-Complete", completes), ("Upload-Draft-Interop-Version", "\(version)"),
            ])
    }

    private func use(_ request: UploadExchange) throws {
        let (files, path) = (request.files, request.path)
        guard let known = files[path], !known.isDeleted else { return try request.reply(404) }
        guard files.claim(path) else { return try request.reply(423) }
        defer { files.release(path) }
        switch request.method {
        case "HEAD": try request.reply(204, state(of: path, files) + [("Cache-Control", "no-store")])
        case "DELETE":
            files.change(path) { $0.isDeleted = true }
            try request.reply(204)
        default: try append(request)
        }
    }

    private func append(_ request: UploadExchange) throws {
        let (files, path) = (request.files, request.path)
        let isTyped = request.header("Content-Type") == "application/partial-upload" || version < 6
        guard isTyped, isSpoken(request) else { return try request.reply(415) }
        guard let entry = files[path], request.header("Upload-Offset") == "\(entry.bytes.count)" else {
            return try request.reply(409, state(of: path, files))
        }
        try files.append(request, to: path)
        guard request.header("Upload-Complete") == "?1" else { return try request.reply(204, state(of: path, files)) }
        files.change(path) { entry in
            entry.isComplete = true
            entry.length = entry.bytes.count
        }
        try request.reply(200, state(of: path, files), body: "stored")
    }

    private func state(of path: String, _ files: UploadedFiles) -> [(String, String)] {
        guard let entry = files[path] else { return [] }
        var fields = [
            ("Upload-Offset", "\(entry.bytes.count)"), ("Upload-Complete", entry.isComplete ? "?1" : "?0"),
            ("Upload-Draft-Interop-Version", "\(version)"),
        ]
        if let length = entry.length { fields.append(("Upload-Length", "\(length)")) }
        return fields
    }
}
