import TransferModel
import TransferRPC

/// A notification about a task, with the members that this library uses.
struct Notice: Sendable {
    var type: EventType
    var sequence: SequenceNumber?
    var task: TaskID?
    var response: ResponseInfo?
    var error: TransferError?
    var reason: WaitReason?
    var file: String?
    var url: String?
    var offset: Int64?
    var expected: Int64?
    var bytesReceived: Int64?
    var bytesExpected: Int64?
    var bytesSent: Int64?
    var bytesToSend: Int64?
    var decision: DecisionID?
    var question: Question?

    /// - Throws: `TransferError` for what is not an event.
    init(_ text: [UInt8]) throws {
        let node = try JSONTape(text, lenient: true).root

        guard let type: EventType = try node.value("type") else { throw node.missing("type") }
        self.type = type
        sequence = try node.value("sequence")
        task = try node.value("task")
        switch type {
        case .taskResponse: response = try node.value("response")
        case .taskFailed: error = try node.value("error")
        case .taskWaiting: reason = try node.value("reason")
        case .taskRedirected: url = try node.value("url")
        case .taskCompleted:
            file = try node.value("file")
            bytesReceived = try node.value("bytes")
        case .taskResumed:
            offset = try node.value("offset")
            expected = try node.value("expected")
        case .taskProgress:
            bytesReceived = try node.value("bytesReceived")
            bytesExpected = try node.value("bytesExpected")
            bytesSent = try node.value("bytesSent")
            bytesToSend = try node.value("bytesToSend")
        case .taskDecision:
            decision = try node.value("decision")
            question = try Question.shape.read(node, ignoringOthers: true)
        default: break
        }
    }

    /// An open question, as a list of questions tells it.
    init(_ view: DecisionView) {
        type = .taskDecision
        task = view.task
        decision = view.decision
        question = view.question
    }

    /// What a session subscribes to.
    static let types: [EventType] = [
        .taskResponse, .taskRedirected, .taskResumed, .taskProgress, .taskWaiting, .taskDecision, .taskCompleted,
        .taskFailed, .taskCancelled,
    ]
}
