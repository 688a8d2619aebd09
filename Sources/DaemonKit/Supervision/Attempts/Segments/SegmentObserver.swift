import CurlEngine
import Threading
import TransferCore
import TransferModel

/// Lets the task hear of its download what it would hear of one stream: the first answer, not that of each part.
final class SegmentObserver: TransferObserver {
    private let recorder: RunRecorder
    /// Bytes held of a file with gaps; nil if the first exchange itself says where it goes on.
    private let held: ByteCount?
    private let hasAnswer: Guarded<Bool>

    /// - Parameter hasAnswer: the task heard of the first one already.
    init(_ recorder: RunRecorder, resuming checkpoint: Checkpoint?, hasAnswer: Bool) {
        self.recorder = recorder
        self.hasAnswer = Guarded(hasAnswer)
        held = checkpoint.flatMap { $0.ranges.isEmpty ? nil : $0.held }
    }

    func transferRedirected(to url: String, status: Int) {
        if !hasAnswer.withLock({ $0 }) { recorder.transferRedirected(to: url, status: status) }
    }

    func transferSecured(to url: String) {
        if !hasAnswer.withLock({ $0 }) { recorder.transferSecured(to: url) }
    }

    func transferResponded(_ head: ResponseHead, verdict: Verdict) {
        guard case .accept(var acceptance) = verdict else {
            if !hasAnswer.withLock({ $0 }) { recorder.transferResponded(head, verdict: verdict) }
            return
        }
        let isPart = hasAnswer.withLock { hasAnswer in
            defer { hasAnswer = true }
            return hasAnswer
        }
        // An answer that begins the file anew is news at any time.
        guard !isPart || acceptance.truncate else { return }
        if let held, !acceptance.truncate { acceptance.offset = held }
        recorder.transferResponded(head, verdict: .accept(acceptance))
    }

    func transferReachedFile(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        recorder.transferReachedFile(checkpoint, proceed: proceed)
    }

    func begins(_ exchange: Exchange) { recorder.begins(exchange) }

    func transferMeasured(_ metrics: ExchangeMetrics) { recorder.transferMeasured(metrics) }

    func transferLingers() { recorder.transferLingers() }

    func transferCheckpointed(_ checkpoint: Checkpoint) { recorder.transferCheckpointed(checkpoint) }

    func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        recorder.transferRestarting(checkpoint, proceed: proceed)
    }
}
