import Threading
import TransferModel
import TransferStore

/// The streams of the tasks of volatile sessions. The first credit or the first attempt creates a stream, and it ends
/// with its task or session.
package final class BodyStreams: Sendable {
    private let bindings: SessionBindings
    private let streams = Guarded<[TaskID: BodyStream]>([:])

    package init(bindings: SessionBindings) { self.bindings = bindings }

    subscript(task: TaskID) -> BodyStream? { streams.withLock { $0[task] } }

    /// Returns the stream of a task; nil if its body is kept, or if its session has no client any more.
    package func stream(of task: TaskID, _ spec: TaskSpec, in session: SessionKey) -> BodyStream? {
        guard spec.stream == true, let sink = bindings.sink(of: session) else { return nil }
        let stream = streams.withLock { streams in
            let stream = streams[task] ?? BodyStream(task: task, session: session, to: sink)
            streams[task] = stream
            return stream
        }
        // Nothing else would end a stream that is made after its session.
        guard bindings.isActive(session) else {
            forget(task)
            return nil
        }
        return stream
    }

    /// Takes the events of a commit of the volatile store.
    package func committed(_ events: [EventRecord]) {
        let removed = events.compactMap { $0.type == .taskRemoved ? $0.task : nil }
        guard !removed.isEmpty else { return }
        streams.withLock { streams in for task in removed { streams[task] = nil } }
    }

    /// Drops the streams of an ended session, whose tasks are forgotten without events.
    func forget(_ session: SessionKey) { streams.withLock { $0 = $0.filter { $1.session != session } } }

    func forget(_ task: TaskID) { streams.withLock { $0[task] = nil } }

    var count: Int { streams.withLock { $0.count } }
}
