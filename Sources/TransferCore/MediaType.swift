import TransferModel

/// Reads Content-Type values (RFC 9110 section 8.3.1).
package enum MediaType {
    /// `text/html` from `text/html; charset=utf-8`, in lower case.
    package static func essence(_ value: String) -> String {
        // The usual case: lower case, and nothing to cut off.
        if value.bytes({ $0.allSatisfy(isPlain) }) { return value }
        let end = value.utf8.firstIndex(of: UInt8(ascii: ";")) ?? value.endIndex
        return value[..<end].trimmed.lowercased()
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "+"):
            true
        default: false
        }
    }

    /// A parameter's value, unquoted.
    package static func parameter(_ name: String, of value: String) -> String? {
        guard value.holds(UInt8(ascii: ";")), let text = value.parameters[name], !text.isEmpty else { return nil }
        return text
    }
}

/// Texts for HTTP status codes (the IANA registry of RFC 9110 section 16.2).
package enum HTTPStatus {
    package static func text(_ status: Int) -> String {
        names[status] ?? classes[status / 100] ?? "unknown"
    }

    private static let classes = [
        1: "informational", 2: "success", 3: "redirection", 4: "client error", 5: "server error",
    ]

    private static let names: [Int: String] = [
        100: "continue", 101: "switching protocols", 103: "early hints",
        200: "OK", 201: "created", 202: "accepted", 203: "non-authoritative information", 204: "no content",
        205: "reset content", 206: "partial content", 207: "multi-status",
        300: "multiple choices", 301: "moved permanently", 302: "found", 303: "see other", 304: "not modified",
        307: "temporarily redirected", 308: "permanently redirected",
        400: "bad request", 401: "unauthorized", 402: "payment required", 403: "forbidden", 404: "not found",
        405: "method not allowed", 406: "unacceptable", 407: "proxy authentication required", 408: "request timed out",
        409: "conflict", 410: "no longer exists", 411: "length required", 412: "precondition failed",
        413: "request too large", 414: "requested URL too long", 415: "unsupported media type",
        416: "requested range not satisfiable", 417: "expectation failed", 421: "misdirected request",
        422: "unprocessable content", 423: "locked", 425: "too early", 426: "upgrade required",
        428: "precondition required", 429: "too many requests", 431: "request header fields too large",
        451: "unavailable for legal reasons",
        500: "internal server error", 501: "unimplemented", 502: "bad gateway", 503: "service unavailable",
        504: "gateway timed out", 505: "unsupported version", 507: "insufficient storage",
        511: "network authentication required",
    ]
}

/// File name extensions of common media types (IANA registry), for names that no server gave.
extension MediaType {
    static func fileExtension(_ type: String) -> String? {
        // The most common type, which is not in the table.
        if type == "application/octet-stream" { return nil }
        if let known = extensions[aliases[type] ?? type] { return known }
        // Structured syntax suffixes (RFC 6839): the content is JSON, XML or ZIP, whatever it describes.
        guard type.utf8.contains(UInt8(ascii: "+")) else { return nil }
        let suffix = type.split(separator: "+").dropFirst().last
        return suffix.flatMap { ["json", "xml", "zip"].contains($0) ? String($0) : nil }
    }

    /// The type for the name's extension; application/octet-stream if it is unknown.
    static func guess(_ name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "application/octet-stream" }
        return types[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }

    /// If two types share an extension, the first in alphabetical order.
    private static let types = Dictionary(
        extensions.sorted { $0.key < $1.key }.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })

    /// Names that servers use for types registered under another name.
    private static let aliases = [
        "application/javascript": "text/javascript", "application/x-7z": "application/x-7z-compressed",
        "application/x-gtar": "application/x-tar", "application/x-javascript": "text/javascript",
        "application/x-pdf": "application/pdf", "application/x-rar-compressed": "application/vnd.rar",
        "application/x-yaml": "application/yaml", "application/x-zip-compressed": "application/zip",
        "audio/m4a": "audio/mp4", "audio/mp3": "audio/mpeg", "audio/wave": "audio/wav", "audio/x-flac": "audio/flac",
        "audio/x-m4a": "audio/mp4", "audio/x-wav": "audio/wav", "image/jpg": "image/jpeg",
        "image/pjpeg": "image/jpeg", "image/x-icon": "image/vnd.microsoft.icon", "image/x-ms-bmp": "image/bmp",
        "image/x-png": "image/png", "text/json": "application/json", "text/x-markdown": "text/markdown",
        "text/yaml": "application/yaml",
    ]

    private static let extensions: [String: String] = [
        "application/epub+zip": "epub", "application/gzip": "gz", "application/java-archive": "jar",
        "application/json": "json", "application/ld+json": "jsonld", "application/manifest+json": "webmanifest",
        "application/msword": "doc", "application/ogg": "ogx", "application/pdf": "pdf",
        "application/postscript": "ps", "application/rtf": "rtf", "application/sql": "sql", "application/toml": "toml",
        "application/vnd.apple.mpegurl": "m3u8", "application/vnd.ms-fontobject": "eot", "application/vnd.rar": "rar",
        "application/vnd.debian.binary-package": "deb", "application/vnd.ms-excel": "xls",
        "application/vnd.ms-powerpoint": "ppt", "application/vnd.oasis.opendocument.presentation": "odp",
        "application/vnd.oasis.opendocument.spreadsheet": "ods", "application/vnd.oasis.opendocument.text": "odt",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx", "application/wasm": "wasm",
        "application/x-7z-compressed": "7z", "application/x-bittorrent": "torrent", "application/x-bzip2": "bz2",
        "application/x-debian-package": "deb", "application/x-gzip": "gz", "application/x-iso9660-image": "iso",
        "application/x-rpm": "rpm", "application/x-sh": "sh", "application/x-tar": "tar", "application/x-xz": "xz",
        "application/xhtml+xml": "xhtml",
        "application/xml": "xml", "application/yaml": "yaml", "application/zip": "zip", "application/zstd": "zst",
        "audio/aac": "aac", "audio/flac": "flac", "audio/midi": "mid", "audio/mp4": "m4a", "audio/mpeg": "mp3",
        "audio/ogg": "oga", "audio/opus": "opus", "audio/wav": "wav", "audio/webm": "weba", "font/otf": "otf",
        "font/ttf": "ttf", "font/woff": "woff", "font/woff2": "woff2", "image/apng": "apng", "image/avif": "avif",
        "image/bmp": "bmp",
        "image/gif": "gif", "image/heic": "heic", "image/jpeg": "jpg", "image/jxl": "jxl", "image/png": "png",
        "image/svg+xml": "svg", "image/tiff": "tiff", "image/vnd.microsoft.icon": "ico", "image/webp": "webp",
        "text/calendar": "ics", "text/css": "css", "text/csv": "csv", "text/html": "html", "text/javascript": "js",
        "text/markdown": "md", "text/plain": "txt", "text/vcard": "vcf", "text/xml": "xml", "video/3gpp": "3gp",
        "video/mp2t": "ts", "video/mp4": "mp4",
        "video/mpeg": "mpeg", "video/ogg": "ogv", "video/quicktime": "mov", "video/webm": "webm",
        "video/x-matroska": "mkv", "video/x-msvideo": "avi",
    ]
}
