import TransferModel
import TransferRPC

/// A notification about a task, with the members that this library uses.
struct Notice: Decodable, Sendable {
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

    private enum CodingKeys: String, CodingKey {
        case type, sequence, task, response, error, reason, file, url, offset, expected, bytesReceived, bytesExpected,
            bytesSent, bytesToSend, decision, bytes
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        type = try fields.decode(EventType.self, forKey: .type)
        sequence = try fields.decodeIfPresent(SequenceNumber.self, forKey: .sequence)
        task = try fields.decodeIfPresent(TaskID.self, forKey: .task)
        switch type {
        case .taskResponse: response = try fields.decodeIfPresent(ResponseInfo.self, forKey: .response)
        case .taskFailed: error = try fields.decodeIfPresent(TransferError.self, forKey: .error)
        case .taskWaiting: reason = try fields.decodeIfPresent(WaitReason.self, forKey: .reason)
        case .taskRedirected: url = try fields.decodeIfPresent(String.self, forKey: .url)
        case .taskCompleted:
            file = try fields.decodeIfPresent(String.self, forKey: .file)
            bytesReceived = try fields.decodeIfPresent(Int64.self, forKey: .bytes)
        case .taskResumed:
            offset = try fields.decodeIfPresent(Int64.self, forKey: .offset)
            expected = try fields.decodeIfPresent(Int64.self, forKey: .expected)
        case .taskProgress:
            bytesReceived = try fields.decodeIfPresent(Int64.self, forKey: .bytesReceived)
            bytesExpected = try fields.decodeIfPresent(Int64.self, forKey: .bytesExpected)
            bytesSent = try fields.decodeIfPresent(Int64.self, forKey: .bytesSent)
            bytesToSend = try fields.decodeIfPresent(Int64.self, forKey: .bytesToSend)
        case .taskDecision:
            decision = try fields.decodeIfPresent(DecisionID.self, forKey: .decision)
            question = try Question(from: decoder)
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
