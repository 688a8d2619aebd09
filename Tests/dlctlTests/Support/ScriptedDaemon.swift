import Threading
import TransferClient
import TransferModel
import TransferRPC

@testable import dlctl

/// A daemon in the same process. The test gives the answers and feeds the subscriptions.
final class ScriptedDaemon: DaemonCalling {
    typealias Stream = AsyncThrowingStream<EventView, any Error>

    private struct State {
        var tasks: [TaskID: TaskView] = [:]
        var head = SequenceNumber.zero
        var refusal: (any Error)?
        var subscriptions: [Subscribe] = []
        var calls: [String] = []
        var continuation: Stream.Continuation?
        var isGone = false
        var later: [TaskView] = []
    }

    let socketPath = "/scripted"

    private let state = Guarded(State())

    init(tasks: [TaskView] = [], head: Int64 = 0, refusal: TransferError? = nil, silence: ClientError? = nil) {
        state.withLock {
            $0.tasks = Dictionary(uniqueKeysWithValues: tasks.map { ($0.id, $0) })
            $0.head = SequenceNumber(head)
            if let refusal { $0.refusal = refusal }
            if let silence { $0.refusal = silence }
        }
    }

    var subscriptions: [Subscribe] { state.withLock { $0.subscriptions } }
    var calls: [String] { state.withLock { $0.calls } }

    func set(_ view: TaskView) { state.withLock { $0.tasks[view.id] = view } }

    /// Changes a task after the next list was answered.
    func setAfterList(_ view: TaskView) { state.withLock { $0.later.append(view) } }

    func send(_ event: EventView) {
        _ = state.withLock { $0.continuation }?.yield(event)
    }

    /// The daemon dies.
    func crash() {
        state.withLock { $0.continuation }?.finish(throwing: ClientError.connectionLost("test"))
    }

    /// The daemon has died, and the events that it sent before are still read.
    func dieAfterEvents() { state.withLock { $0.isGone = true } }

    func call<M: RPCMethod>(_ method: M, _ parameters: M.Parameters) async throws -> M.Result {
        state.withLock { $0.calls.append(method.name) }
        if state.withLock({ $0.isGone }) { throw ClientError.connectionLost("test") }
        let answer: Any
        switch parameters {
        case let reference as GetTask:
            guard let view = state.withLock({ $0.tasks[reference.id] }) else {
                throw TransferError(.taskNotFound, "no task \(reference.id)")
            }
            answer = view
        case let query as ListTasks:
            let tasks = state.withLock { state in
                defer { state.later.forEach { state.tasks[$0.id] = $0 } }
                return state.tasks.values.sorted { $0.id < $1.id }
            }
            answer = ListedTasks(paging: tasks, query)
        default: throw TransferError(.unsupported, "not scripted: \(method.name)")
        }
        guard let result = answer as? M.Result else { throw TransferError(.internal, "wrong script") }
        return result
    }

    func follow(_ parameters: Subscribe) async throws -> (head: SequenceNumber, events: Stream) {
        let (stream, continuation) = Stream.makeStream()
        let (head, refusal) = state.withLock { state in
            state.subscriptions.append(parameters)
            state.continuation = continuation
            return (state.head, state.refusal)
        }
        if let refusal { throw refusal }
        return (head, stream)
    }

    func close() async {}
}
