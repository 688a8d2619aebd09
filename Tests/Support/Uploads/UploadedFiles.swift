import Glibc
import Threading

/// The contents of an upload server: one entry for each upload resource that it created.
package final class UploadedFiles: Sendable {
    package struct Entry: Sendable {
        package var bytes: [UInt8] = []
        package var content: Content { Content(bytes: bytes) }
        /// The length that it will have; nil if unknown.
        package var length: Int?
        package var isComplete = false
        package var isDeleted = false
        package var metadata: String?
        fileprivate var isBusy = false
    }

    private let entries = Guarded<[String: Entry]>([:])
    private let counter = Guarded(0)

    package var all: [String: Entry] { entries.withLock { $0 } }
    package subscript(path: String) -> Entry? { entries.withLock { $0[path] } }
    /// The bytes of all entries. Tests ask often, so no content is copied.
    package var total: Int { entries.withLock { $0.values.reduce(0) { $0 + $1.bytes.count } } }

    package func create(length: Int?, metadata: String? = nil) -> String {
        let number = counter.withLock { counter -> Int in
            counter += 1
            return counter
        }
        let path = "/files/upload-\(number)"
        entries.withLock { $0[path] = Entry(length: length, metadata: metadata) }
        return path
    }

    package func put(_ path: String, _ bytes: [UInt8]) {
        entries.withLock { $0[path] = Entry(bytes: bytes, length: bytes.count, isComplete: true) }
    }

    package func change(_ path: String, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            guard var entry = entries[path] else { return }
            body(&entry)
            entries[path] = entry
        }
    }

    /// Reserves the resource for one request, and waits until an append whose client is gone has ended.
    /// - Returns: false if another request still writes after ten seconds.
    func claim(_ path: String) -> Bool {
        for _ in 0..<5000 {
            let free = entries.withLock { entries in
                guard entries[path]?.isBusy == false else { return false }
                entries[path]?.isBusy = true
                return true
            }
            if free { return true }
            usleep(2000)
        }
        return false
    }

    func release(_ path: String) { entries.withLock { $0[path]?.isBusy = false } }

    /// Appends what arrives, piece by piece, so that the bytes of a cut connection stay.
    func append(_ request: UploadExchange, to path: String) throws {
        while let piece = try request.read() {
            entries.withLock { $0[path]?.bytes += piece }
        }
    }
}
