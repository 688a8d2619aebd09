import Glibc

/// Reads bodies and forgets them, so that they may be of any length. None goes on beyond its first bytes before as many
/// requests have begun as there are to be.
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
