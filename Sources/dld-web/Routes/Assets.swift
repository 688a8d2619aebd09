import CLinux
import NIOHTTP1
import WebPage

/// The files of the page, which are compiled in: no file system is asked, and everybody gets the same bytes.
struct Assets: Sendable {
    private struct Asset: Sendable {
        var type: String
        /// Strong validators, so each form has its own (RFC 9110 section 8.8.3.3).
        var tag: String
        var zippedTag: String
        var bytes: [UInt8]
        var zipped: [UInt8]
    }

    private let all: [String: Asset]

    init() {
        var all: [String: Asset] = [:]
        for index in 0..<Int(web_page_count) {
            let file = web_page_file(index)
            let bytes = [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.length))
            let name = String(cString: file.name)
            let digest = Secret.digest(String(decoding: bytes, as: UTF8.self)).prefix(22)
            all["/" + name] = Asset(
                type: Self.type(of: name), tag: "\"\(digest)\"", zippedTag: "\"\(digest)-gzip\"", bytes: bytes,
                zipped: Gzip.bytes(bytes))
        }
        all["/"] = all.removeValue(forKey: "/index.html")
        self.all = all
    }

    func has(_ path: String) -> Bool { all[path] != nil }

    func answer(_ request: WebRequest) -> WebAnswer {
        guard let asset = all[request.path] else { return .refused(.notFound) }
        var answer = WebAnswer(
            status: .ok,
            headers: [
                ("Content-Type", asset.type), ("Cache-Control", "no-cache"),
                ("ETag", request.acceptsGzip ? asset.zippedTag : asset.tag), ("Vary", "Accept-Encoding"),
            ])
        let known = request.headers[canonicalForm: "if-none-match"].map {
            $0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...]
        }
        if known.contains(where: { $0 == asset.tag || $0 == asset.zippedTag || $0 == "*" }) {
            answer.status = .notModified
            return answer
        }
        if request.acceptsGzip {
            answer.headers.append(("Content-Encoding", "gzip"))
            answer.body = .bytes(asset.zipped)
        } else {
            answer.body = .bytes(asset.bytes)
        }
        return answer
    }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        case "webmanifest", "json": "application/manifest+json"
        default: "application/octet-stream"
        }
    }
}

/// Compression of answers (RFC 1952).
enum Gzip {
    /// Shorter answers gain nothing.
    private static let shortest = 1024

    static func bytes(_ bytes: [UInt8]) -> [UInt8] {
        // What does not shrink grows by a few bytes for each 16 KiB, and by the head.
        let room = bytes.count + bytes.count / 1000 + 64
        return [UInt8](unsafeUninitializedCapacity: room) { output, count in
            count = dld_gzip(bytes, bytes.count, output.baseAddress, room)
        }
    }

    /// Never for answers with a secret: together with text that another chooses, their length would tell it.
    static func compressed(_ answer: WebAnswer, for request: WebRequest) -> WebAnswer {
        guard case .bytes(let plain) = answer.body, plain.count >= shortest else { return answer }
        var answer = answer
        answer.headers.append(("Vary", "Accept-Encoding"))
        guard request.acceptsGzip, case let zipped = bytes(plain), !zipped.isEmpty else { return answer }
        answer.headers.append(("Content-Encoding", "gzip"))
        answer.body = .bytes(zipped)
        return answer
    }
}
