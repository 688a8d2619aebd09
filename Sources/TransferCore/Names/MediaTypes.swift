/// File name extensions of common media types (IANA registry), for names that have none.
enum MediaTypes {
    static func fileExtension(_ type: String) -> String? { extensions[type] }

    /// By the name's extension; application/octet-stream where it says nothing.
    static func guess(_ name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "application/octet-stream" }
        return types[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }

    /// The first type in alphabetical order where two have one extension.
    private static let types = Dictionary(
        extensions.sorted { $0.key < $1.key }.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })

    private static let extensions: [String: String] = [
        "application/epub+zip": "epub", "application/gzip": "gz", "application/java-archive": "jar",
        "application/json": "json", "application/msword": "doc", "application/ogg": "ogx", "application/pdf": "pdf",
        "application/rtf": "rtf", "application/vnd.debian.binary-package": "deb", "application/vnd.ms-excel": "xls",
        "application/vnd.ms-powerpoint": "ppt", "application/vnd.oasis.opendocument.presentation": "odp",
        "application/vnd.oasis.opendocument.spreadsheet": "ods", "application/vnd.oasis.opendocument.text": "odt",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx", "application/wasm": "wasm",
        "application/x-7z-compressed": "7z", "application/x-bittorrent": "torrent", "application/x-bzip2": "bz2",
        "application/x-debian-package": "deb", "application/x-gzip": "gz", "application/x-iso9660-image": "iso",
        "application/x-rpm": "rpm", "application/x-tar": "tar", "application/x-xz": "xz",
        "application/xhtml+xml": "xhtml",
        "application/xml": "xml", "application/yaml": "yaml", "application/zip": "zip", "application/zstd": "zst",
        "audio/aac": "aac", "audio/flac": "flac", "audio/midi": "mid", "audio/mp4": "m4a", "audio/mpeg": "mp3",
        "audio/ogg": "oga", "audio/opus": "opus", "audio/wav": "wav", "audio/webm": "weba", "font/otf": "otf",
        "font/ttf": "ttf", "font/woff": "woff", "font/woff2": "woff2", "image/avif": "avif", "image/bmp": "bmp",
        "image/gif": "gif", "image/heic": "heic", "image/jpeg": "jpg", "image/jxl": "jxl", "image/png": "png",
        "image/svg+xml": "svg", "image/tiff": "tiff", "image/vnd.microsoft.icon": "ico", "image/webp": "webp",
        "text/calendar": "ics", "text/css": "css", "text/csv": "csv", "text/html": "html", "text/javascript": "js",
        "text/markdown": "md", "text/plain": "txt", "text/vcard": "vcf", "text/xml": "xml", "video/mp4": "mp4",
        "video/mpeg": "mpeg", "video/ogg": "ogv", "video/quicktime": "mov", "video/webm": "webm",
        "video/x-matroska": "mkv", "video/x-msvideo": "avi",
    ]
}
