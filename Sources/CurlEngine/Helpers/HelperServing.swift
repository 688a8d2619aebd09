import Glibc
import TransferCore
import TransferModel

/// Has the programs run that serve the schemes which libcurl does not know.
package protocol HelperServing: Sendable {
    /// Asks the helper of the call's scheme; returns at once.
    /// - Parameter deliver: called on any thread, in order.
    func begin(_ call: HelperCall, deliver: @escaping @Sendable (HelperEvent) -> Void) -> any HelperConversation
}

/// One request to a helper.
package struct HelperCall: Sendable {
    package var scheme: String
    package var owner: UserID
    package var task: TaskID
    /// Milliseconds that it may be silent.
    package var patience: Int64
    /// Without its body.
    package var order: HelperOrder
    /// The file that a helper of one request writes itself; nil if the body goes elsewhere.
    package var part: PartFile?
    package var payload: Payload
    package var source: UploadSource?

    /// The order with its body. Blocks on the file that is sent.
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

/// A request that a helper was asked, for the transfer that takes its answer.
package protocol HelperConversation: Sendable {
    /// Nothing can be expected of the helper now: it is being started, or its lines wait for another transfer.
    var isHeldUp: Bool { get }
    /// It writes the part itself.
    var writesPart: Bool { get }
    /// An event of this weight was dealt with.
    func took(_ weight: Int)
    /// Answers a challenge; nil if there is no credential.
    func answer(_ credential: (username: String, password: String)?)
    /// Nothing more is wanted: a request that is not over is cancelled.
    /// - Parameter then: called once, on any thread, when no process writes the part any more.
    func end(then: @escaping @Sendable () -> Void)
}

/// What a transfer knows of its helper. The reactor's.
final class HelperTalk {
    let call: HelperCall
    var conversation: (any HelperConversation)?
    /// Events that wait until the transfer takes them, and what of the first one's bytes was taken.
    private var waiting: [HelperEvent] = []
    private var next = 0
    var taken = 0
    /// Bytes that a body which goes to no file must still have; nil if nobody knows.
    var left: Int64?
    /// A credential was sent; to be asked again means that it was refused.
    var hasAnswered = false
    /// How the exchange ends once no process writes the part any more.
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
