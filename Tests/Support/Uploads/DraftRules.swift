/// Resumable uploads by draft-ietf-httpbis-resumable-upload, for one interop version.
package struct DraftRules: UploadRules {
    package let version: Int
    /// Reports with a 104 where a newly created upload is, before its content is read.
    package let announces: Bool

    package init(version: Int, announces: Bool = false) {
        self.version = version
        self.announces = announces
    }

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

    /// `?1` if the request brings the end. Version 3 says the opposite, in another field.
    private func completes(_ request: UploadExchange) -> String? {
        guard version == 3 else { return request.header("Upload-Complete") }
        return request.header("Upload-Incomplete").map { $0 == "?0" ? "?1" : "?0" }
    }

    private func completeness(_ isComplete: Bool) -> (String, String) {
        version == 3
            ? ("Upload-Incomplete", isComplete ? "?0" : "?1") : ("Upload-Complete", isComplete ? "?1" : "?0")
    }

    private func create(_ request: UploadExchange) throws {
        guard isSpoken(request), let completes = completes(request) else {
            // The client does not use the draft: a plain request.
            request.files.put(request.path, try request.readAll())
            return try request.reply(200)
        }
        let path = request.files.create(
            length: request.header("Upload-Length").flatMap { Int($0) } ?? (completes == "?1" ? request.length : nil))
        guard request.files.claim(path) else { return try request.reply(423) }
        defer { request.files.release(path) }
        if announces, completes == "?1" {
            try request.reply(104, [("Location", path), ("Upload-Draft-Interop-Version", "\(version)")])
        }
        try request.files.append(request, to: path)
        let isComplete = completes == "?1" && !request.isShort
        if isComplete { request.files.change(path) { $0.isComplete = true } }
        try request.reply(
            201,
            [
                ("Location", path), ("Upload-Offset", "\(request.files[path]?.bytes.count ?? 0)"),
                completeness(isComplete), ("Upload-Draft-Interop-Version", "\(version)"),
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
        guard completes(request) == "?1", !request.isShort else {
            return try request.reply(204, state(of: path, files))
        }
        files.change(path) { entry in
            entry.isComplete = true
            entry.length = entry.bytes.count
        }
        try request.reply(200, state(of: path, files), body: "stored")
    }

    private func state(of path: String, _ files: UploadedFiles) -> [(String, String)] {
        guard let entry = files[path] else { return [] }
        var fields = [
            ("Upload-Offset", "\(entry.bytes.count)"), completeness(entry.isComplete),
            ("Upload-Draft-Interop-Version", "\(version)"),
        ]
        if let length = entry.length { fields.append(("Upload-Length", "\(length)")) }
        return fields
    }
}
