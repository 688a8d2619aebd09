/// A request as it arrived.
package struct OriginRequest: Sendable {
    package var method: String
    /// As in the request line; absolute if a proxy was asked.
    package var target: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The number of the connection that carried it, from 1.
    package var connection: Int

    /// Path without the query.
    package var path: String { String(target.prefix(while: { $0 != "?" })) }
    package var query: String? { target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) } }

    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The first and last byte of a header with a single range, unchecked; the last is nil if the range is open.
    package var range: (first: Int, last: Int?)? {
        guard let text = header("Range"), text.hasPrefix("bytes=") else { return nil }
        let parts = text.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Int(parts[0]) else { return nil }
        return (first, Int(parts[1]))
    }
}

/// A request and its result.
package struct RecordedRequest: Sendable {
    package var request: OriginRequest
    /// 0 until it is answered.
    package var status = 0
    /// The body bytes given to the kernel.
    package var bodyBytes: Int64 = 0
    /// The whole answer was sent.
    package var isFinished = false

    package func header(_ name: String) -> String? { request.header(name) }
}
