import DaemonKit
import TestSupport
import TransferModel

/// The end of the wire that a volatile session is bound to. The daemon's lines wait here until the client reads them.
final class VolatileConnection: EventSink, @unchecked Sendable {
    private struct Line: Decodable {
        struct Data: Decodable {
            var task: Int64
            var offset: Int64
            var base64: String
        }
        var method: String
        var params: Data
    }

    let id: Int
    private unowned let client: VolatileClient
    private(set) var isClosed = false
    private(set) var queuedBytes = 0
    private var waiters: [CheckedContinuation<Bool, Never>] = []

    private static let crowded = 60_000

    init(_ id: Int, _ client: VolatileClient) {
        self.id = id
        self.client = client
    }

    func send(_ pieces: [UInt8]...) {
        guard !isClosed else { return client.wrong("something after its connection was closed") }
        let text = pieces.flatMap { $0 }
        guard let line = try? JSONCoding.decode(Line.self, from: text, lenient: true), line.method == "task.data" else {
            return client.wrong("what is no piece of a stream")
        }
        if isCrowded { client.wrong("more than it reads") }
        queuedBytes += text.count
        client.took(TaskID(line.params.task), line.params.offset, Base64Text.decode(line.params.base64))
    }

    /// The client has read the waiting lines.
    func read() {
        queuedBytes = 0
        resume(true)
    }

    var isCrowded: Bool { queuedBytes > Self.crowded }

    func waitForRoom() async -> Bool {
        if isClosed { return false }
        if !isCrowded { return true }
        return await withCheckedContinuation { waiters.append($0) }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        resume(false)
    }

    private func resume(_ answer: Bool) {
        let all = waiters
        waiters = []
        all.forEach { $0.resume(returning: answer) }
    }
}
