import Glibc

/// Reads bodies and discards them, so that they may have any length. No body is read beyond its first bytes before
/// `requests` requests have begun.
package struct DrainRules: UploadRules {
    private let requests: Int

    package init(requests: Int = 1) { self.requests = requests }

    package func answer(_ request: UploadExchange) throws {
        _ = try request.read()
        _ = request.files.create(length: request.length)
        for _ in 0..<30_000 where request.files.all.count < requests { usleep(1000) }
        while try request.read() != nil {}
        try request.reply(201)
    }
}
