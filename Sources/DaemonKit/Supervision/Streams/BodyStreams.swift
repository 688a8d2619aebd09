import Threading
import TransferModel
import TransferStore

/// The streams of the tasks of volatile sessions. The first credit or the first attempt creates a stream, and it ends
/// with its task.
package final class BodyStreams: Sendable {
    private let bindings: SessionBindings
    private let streams = Guarded<[TaskID: BodyStream]>([:])

    package init(bindings: SessionBindings) { self.bindings = bindings }

    subscript(task: TaskID) -> BodyStream? { streams.withLock { $0[task] } }

    /// Returns the stream of a task; nil if its body is kept, or if its session has no client any more.
    package func stream(of task: TaskID, _ spec: TaskSpec, in session: SessionKey) -> BodyStream? {
        guard spec.stream == true, let sink = bindings.sink(of: session) else { return nil }
        return streams.withLock { streams in
            if let known = streams[task] { return known }
            let stream = BodyStream(task: task, session: session, to: sink)
            streams[task] = stream
            return stream
        }
    }

    /// Takes the events of a commit of the volatile store.
    package func committed(_ events: [EventRecord]) {
        let removed = events.compactMap { $0.type == .taskRemoved ? $0.task : nil }
        guard !removed.isEmpty else { return }
        streams.withLock { streams in for task in removed { streams[task] = nil } }
    }
}
