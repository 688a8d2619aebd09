import Glibc

/// Files that this library makes: bodies to send, and downloads on their way to a delegate.
enum BodyFile {
    /// Longer bodies are sent from a file instead of a message.
    static let longestMessage = 256 << 10

    /// A folder for this user alone, below the temporary folder, which may be everybody's.
    static var folder: String {
        let own = usualFolder
        var status = stat()
        _ = removal
        if mkdir(own, 0o700) == 0 { return own }
        // Somebody else may have made it, or a link of that name.
        let isOwn = lstat(own, &status) == 0 && status.st_uid == geteuid()
        if isOwn, status.st_mode & (S_IFMT | 0o077) == S_IFDIR { return own }
        return privateFolder
    }

    private static var usualFolder: String {
        "\(FileManager.default.temporaryDirectory.path)/TransferNetworking-\(geteuid())"
    }

    /// The process removes the folder when it ends, if it is empty.
    private static let removal: Int32 = atexit { rmdir(BodyFile.usualFolder) }

    /// Made once in a process, if the usual one cannot be used.
    private static let privateFolder: String = {
        var template = Array("\(FileManager.default.temporaryDirectory.path)/TransferNetworking-XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { name in
            name.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? "/nonexistent"
        }
    }()

    /// An empty file that only this user can read.
    static func create(in folder: String) -> String? {
        var template = Array("\(folder)/CFNetworkDownload_XXXXXX.tmp".utf8CString)
        let descriptor = mkstemps(&template, 4)
        guard descriptor >= 0 else { return nil }
        close(descriptor)
        return template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }

    static func make(of data: Data) throws -> String {
        guard let path = create(in: folder), let file = FileHandle(forWritingAtPath: path) else {
            throw URLError(.cannotCreateFile)
        }
        defer { try? file.close() }
        try file.write(contentsOf: data)
        return path
    }

    /// Reads the stream to its end.
    static func make(from stream: InputStream) throws -> String {
        guard let path = create(in: folder), let file = FileHandle(forWritingAtPath: path) else {
            throw URLError(.cannotCreateFile)
        }
        stream.open()
        defer {
            stream.close()
            try? file.close()
        }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = stream.read(&buffer, maxLength: buffer.count)
            if count == 0 { return path }
            guard count > 0 else {
                unlink(path)
                throw stream.streamError ?? URLError(.requestBodyStreamExhausted)
            }
            try file.write(contentsOf: buffer[..<count])
        }
    }
}

/// What `cancel(byProducingResumeData:)` gives: the request, and what the daemon continues from. It has the whole URL:
/// keep it as private as that.
struct ResumeData: Codable {
    private var url: String
    private var method: String?
    private var headers: [String: String]?
    /// The daemon's own, of a download.
    var blob: String?
    /// The file that an upload sends again.
    var file: String?

    static func pack(_ blob: String, _ request: URLRequest?) -> Data? { pack(request) { $0.blob = blob } }
    static func pack(upload file: URL, _ request: URLRequest?) -> Data? { pack(request) { $0.file = file.path } }

    private static func pack(_ request: URLRequest?, _ add: (inout ResumeData) -> Void) -> Data? {
        guard let request, let url = request.url else { return nil }
        var data = ResumeData(url: url.absoluteString, method: request.httpMethod, headers: request.allHTTPHeaderFields)
        add(&data)
        return try? PropertyListEncoder().encode(data)
    }

    /// nil if they are not what this library makes.
    static func unpack(_ data: Data) -> ResumeData? { try? PropertyListDecoder().decode(ResumeData.self, from: data) }

    static func request(of data: Data) -> URLRequest? {
        guard let unpacked = unpack(data), let url = URL(string: unpacked.url) else { return nil }
        var request = URLRequest(url: url)
        request.httpMethod = unpacked.method
        request.allHTTPHeaderFields = unpacked.headers
        return request
    }
}
