/// Upload sessions with Content-Range and 308 answers, as in Google Cloud Storage.
package struct ContentRangeRules: UploadRules {
    package init() {}

    package func answer(_ request: UploadExchange) throws {
        switch request.method {
        case "POST":
            let length = request.header("X-Upload-Content-Length").flatMap { Int($0) }
            _ = try request.readAll()
            let path = request.files.create(length: length)
            try request.reply(200, [("Location", "http://\(request.header("Host") ?? "")\(path)")])
        case "PUT": try put(request)
        case "DELETE":
            request.files.change(request.path) { $0.isDeleted = true }
            try request.reply(499)
        default: try request.reply(405)
        }
    }

    private func put(_ request: UploadExchange) throws {
        let (files, path) = (request.files, request.path)
        guard let known = files[path], !known.isDeleted else { return try request.reply(404) }
        guard files.claim(path) else { return try request.reply(503, [("Retry-After", "1")]) }
        defer { files.release(path) }
        let range = request.header("Content-Range")?.dropFirst("bytes ".count).prefix { $0 != "/" } ?? ""
        if range != "*" {
            let bounds = range.split(separator: "-").compactMap { Int($0) }
            let held = files[path]?.bytes.count ?? 0
            guard bounds.count == 2, bounds[0] == held, bounds[1] - bounds[0] + 1 == request.length else {
                return try request.reply(416)
            }
            // All chunks except the last are multiples of 256 KiB.
            guard request.length % (256 << 10) == 0 || bounds[1] + 1 == known.length else {
                return try request.reply(400)
            }
            try files.append(request, to: path)
        }
        guard let entry = files[path] else { return try request.reply(404) }
        if entry.bytes.count == entry.length {
            files.change(path) { $0.isComplete = true }
            return try request.reply(200, body: "{}")
        }
        let kept = entry.bytes.isEmpty ? [] : [("Range", "bytes=0-\(entry.bytes.count - 1)")]
        try request.reply(308, kept)
    }
}
