import CurlEngine
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// One attempt at one upload or data task. It opens the source and checks that it has not changed since the task was
/// added. Then it makes the requests that the strategy names, until the server has everything. The complete answer to a
/// data task is stored with the task, or goes to the client as it arrives.
final class RequestAttempt: TransferAttempt {
    let record: TaskRecord
    let policy: EffectivePolicy
    let run: TransferRun
    let tools: AttemptTools
    /// nil if the answer is kept.
    let stream: BodyStream?
    /// nil for tasks without one.
    let cache: TaskCache?
    /// While it runs.
    private let current = Guarded<RequestCourse?>(nil)

    init(record: TaskRecord, policy: EffectivePolicy, run: TransferRun, tools: AttemptTools) {
        self.record = record
        self.policy = policy
        self.run = run
        self.tools = tools
        stream = tools.streams?.stream(of: record.id, record.spec, in: record.session)
        cache = policy.cache.flatMap { cache in
            tools.cache.map {
                TaskCache(
                    $0, record, cache, policy.cookies, of: run.cookies, asking: policy.hold(for: .cache),
                    streams: record.spec.stream == true, run, tools.time)
            }
        }
        if let stream { run.streams(to: stream) }
    }

    func begin(_ beginnings: Turnstiles, ended: @escaping @Sendable (AttemptEnding) -> Void) {
        // A source on a disk that hangs must not delay the other attempts.
        run.start { [self] in
            do {
                let begun = try await begin()
                run.wait(for: begun.requests) { [self] in run.start { [self] in await end(begun, beginnings, ended) } }
            } catch {
                ended(AttemptEnding(of: error))
            }
        }
    }

    /// An attempt whose first request is on the network.
    private typealias Begun = (recorder: RunRecorder, requests: StepInterpreter<UploadResult>)

    private func begin() async throws -> Begun {
        // The client has left, and the session is about to end.
        if record.spec.stream == true, stream == nil {
            throw TransferError(.sessionInvalidated, "The connection of the session has closed.")
        }
        let sending = try await tools.files.openSending(of: record, store: tools.patience.store)
        let recorder = RunRecorder(
            record: record, run: run, keepsAnswers: stream != nil, stream: stream, cache: cache,
            patience: tools.patience, keeper: tools.checkpoints, time: tools.time, logger: tools.logger,
            asking: tools.asking(of: record, run, policy) { [current] isStored in
                current.withLock { $0 }?.handOver(isStored: isStored)
            })
        let pinned = try await tools.files.pinned(
            policy.$network, policy.url(of: record.$spec), owner: record.session.owner)
        let course = try RequestCourse(self, sending: sending, pinned, recorder)
        current.withLock { $0 = course }
        let requests = StepInterpreter(course)
        requests.begin()
        return (recorder, requests)
    }

    /// If a client wants the answer as a file, this run goes on as a download.
    private func end(
        _ begun: Begun, _ beginnings: Turnstiles, _ ended: @escaping @Sendable (AttemptEnding) -> Void
    ) async {
        let ending = await end(begun)
        let held = current.withLock { course in
            defer { course = nil }
            return course?.held
        }
        guard case .aborted = ending, let held, !run.isAborting,
            var record = try? await tools.patience.store.read({ [id = record.id] in try $0.task(id) })
        else {
            held?.cancel()
            return ended(ending)
        }
        run.streams(to: nil)
        record.settled = self.record.settled
        // The request was made, and the download does not make it again.
        if held.mayBeContinued { record.upload = nil }
        DownloadAttempt(record: record, policy: policy, run: run, tools: tools, continuing: held)
            .begin(beginnings) { ending in
                held.cancel()
                ended(ending)
            }
    }

    private func end(_ begun: Begun) async -> AttemptEnding {
        await .of {
            await begun.recorder.drain()
            guard let answer = try await begun.requests.value() else { return .aborted }
            if let stream {
                // A stored answer, or a redirect that the client refused to follow: nothing of it was streamed yet.
                try await stream.sendStored()
                if case .answered = policy.redirects { try await stream.send(answer.body) }
            }
            guard run.enterCommit() else { return .aborted }
            run.set(phase: .finishing)
            let kept = record.spec.kind == .data && stream == nil ? answer.body : nil
            let length = stream?.offset ?? kept.map { ByteCount(Int64($0.count)) } ?? answer.total
            return try await tools.complete(
                record, of: run, with: TaskResult(bytes: length, verified: false), answer, keeping: kept)
        }
    }
}
