import DaemonKit
import TestSupport
import TransferModel
import TransferRPC

/// The end of the wire that a volatile session is bound to. The daemon's lines wait here until the client reads them.
final class VolatileConnection: EventSink, @unchecked Sendable {
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
        guard let line = try? JSONTape(text, lenient: true).root, line.member("method")?.stringIfAny == "task.data",
            let piece = try? line.value("params", as: TaskData.self)
        else {
            return client.wrong("what is no piece of a stream")
        }
        if isCrowded { client.wrong("more than it reads") }
        queuedBytes += text.count
        client.took(piece.task, piece.offset, Base64Text.decode(piece.base64))
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
