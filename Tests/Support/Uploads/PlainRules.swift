/// Accepts whole bodies: PUT under their path. POST is answered with the beginning of what was sent.
package struct PlainRules: UploadRules {
    package init() {}

    package func answer(_ request: UploadExchange) throws {
        switch request.method {
        case "PUT":
            request.files.put(request.path, try request.readAll())
            try request.reply(201, [("Location", request.path)], body: "created")
        case "POST":
            let bytes = try request.readAll()
            request.files.put(request.path, bytes)
            let echo = String(decoding: bytes.prefix(1 << 16), as: UTF8.self)
            try request.reply(200, [("Content-Type", "text/plain")], body: echo)
        case "GET": try request.reply(200, [("Content-Type", "text/plain")], body: "got it")
        default:
            _ = try request.readAll()
            try request.reply(405)
        }
    }
}
