import CLinux
import TransferModel

/// Which answers are kept together: those of one owner, or those of one session.
package struct CachePlace: Hashable, Sendable {
    package var owner: UserID
    /// Empty for the owner's own storage.
    package var storage: String

    package init(_ owner: UserID, _ storage: String) {
        self.owner = owner
        self.storage = storage
    }
}

/// One answer as stored on disk. The store does not interpret header and selection.
package struct CacheRecord: Hashable, Sendable {
    package var url: String
    /// The part of the request that selected the answer; with the URL it identifies the record.
    package var selection: String
    package var head: String
    /// Seconds since 1970.
    package var requestTime: Int64
    package var responseTime: Int64
    package var body: [UInt8]

    package init(
        url: String, selection: String, head: String, requestTime: Int64, responseTime: Int64, body: [UInt8] = []
    ) {
        self.url = url
        self.selection = selection
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.body = body
    }

    /// Bytes that the record counts with.
    package var size: Int {
        Bounds.cacheOverhead + url.utf8.count + selection.utf8.count + head.utf8.count + body.count
    }

    /// Covers the whole record and its place, so that an incomplete or damaged one is detected, and one that damage has
    /// moved to another owner.
    func checksum(in place: CachePlace) -> UInt32 {
        let texts = Array(
            "\(place.owner) \(place.storage)\n\(url)\n\(selection)\n\(head)\n\(requestTime) \(responseTime)\n".utf8)
        let first = texts.withUnsafeBytes { dld_crc32c(0, $0.baseAddress, $0.count) }
        return body.withUnsafeBytes { dld_crc32c(first, $0.baseAddress, $0.count) }
    }
}

/// How much of a storage is on disk.
package struct CacheUsage: Hashable, Sendable {
    package var bytes: Int
    package var entries: Int

    package init(bytes: Int = 0, entries: Int = 0) {
        self.bytes = bytes
        self.entries = entries
    }
}
