import Glibc
import TransferCore
import TransferModel

/// Runs the helper programs, which serve the schemes that libcurl does not support.
package protocol HelperServing: Sendable {
    /// Sends the call to the helper of its scheme. Returns at once.
    /// - Parameter deliver: receives the helper's events, on any thread, in order.
    func begin(_ call: HelperCall, deliver: @escaping @Sendable (HelperEvent) -> Void) -> any HelperConversation
}

/// One request to a helper.
package struct HelperCall: Sendable {
    package var scheme: String
    package var owner: UserID
    package var task: TaskID
    /// How long the helper may be silent, in milliseconds.
    package var patience: Int64
    /// The order without its body.
    package var order: HelperOrder
    /// The file that a helper of one request writes itself; nil if the body goes elsewhere.
    package var part: PartFile?
    package var payload: Payload
    package var source: UploadSource?

    /// Returns the order with its body. Blocks while the file to be sent is read.
    /// - Throws: `source.*`; `request.unsupported` for a body that `load` cannot carry.
    package func loaded() throws(TransferError) -> HelperOrder {
        var order = order
        switch payload {
        case .none: break
        case .bytes(let bytes): order.body = .bytes(bytes)
        case .source(let offset, let length):
            if length.rawValue > HelperOrder.longestBody, let source, offset == .zero {
                order.body = .file(source.path, length)
            } else {
                order.body = .bytes(try read(from: offset, length))
            }
        case .framed(let head, let offset, let length, let tail):
            order.body = .bytes(head + (try read(from: offset, length)) + tail)
        }
        guard case .bytes(let bytes)? = order.body, bytes.count > HelperOrder.longestBody else { return order }
        throw TransferError(
            .unsupported, "A helper gets a body of at most \(HelperOrder.longestBody) bytes, unless it is a whole file."
        )
    }

    private func read(from offset: ByteCount, _ length: ByteCount) throws(TransferError) -> [UInt8] {
        guard let source, length.rawValue <= HelperOrder.longestBody else {
            return [UInt8](repeating: 0, count: HelperOrder.longestBody + 1)
        }
        var bytes = [UInt8](repeating: 0, count: Int(length.rawValue))
        var done = 0
        while done < bytes.count {
            let start = off_t(offset.rawValue) + off_t(done)
            let count = bytes.withUnsafeMutableBytes { target in
                pread(source.fileDescriptor, target.baseAddress.map { $0 + done }, target.count - done, start)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw source.changed() }
            done += count
        }
        guard source.identityNow() == source.identity else { throw source.changed() }
        return bytes
    }
}

/// A request to a helper, as seen by the transfer that gets the answer.
package protocol HelperConversation: Sendable {
    /// The helper cannot answer yet, because it is being started.
    var isStarting: Bool { get }
    /// The helper's lines wait for another transfer, which takes no bytes.
    var waitsForAnother: Bool { get }
    /// The helper writes the part file itself.
    var writesPart: Bool { get }
    /// The transfer has handled an event of this weight.
    func took(_ weight: Int)
    /// Answers a challenge.
    /// - Parameter credential: nil if there is none.
    func answer(_ credential: (username: String, password: String)?)
    /// Ends the conversation, and cancels the request if it is not over.
    /// - Parameter then: called once, on any thread, when no process writes the part file any more.
    func end(then: @escaping @Sendable () -> Void)
}

/// A transfer's state of its conversation with a helper. Only the reactor's thread uses it.
final class HelperTalk {
    let call: HelperCall
    var conversation: (any HelperConversation)?
    /// Events that the transfer has not handled yet, and how many bytes of the first one it has taken.
    private var waiting: [HelperEvent] = []
    private var next = 0
    var taken = 0
    /// The bytes that are still missing of a body that goes to no file; nil if that is unknown.
    var left: Int64?
    /// A credential was sent. If the helper asks again, it was refused.
    var hasAnswered = false
    /// How the exchange ends, as soon as no process writes the part file any more.
    var end: ExchangeOutcome.End?
    var isOver = false

    init(_ call: HelperCall) { self.call = call }

    var first: HelperEvent? { next < waiting.count ? waiting[next] : nil }

    func add(_ event: HelperEvent) { waiting.append(event) }

    func removeFirst() {
        conversation?.took(waiting[next].weight)
        taken = 0
        next += 1
        guard next == waiting.count else { return }
        waiting.removeAll(keepingCapacity: true)
        next = 0
    }
}
