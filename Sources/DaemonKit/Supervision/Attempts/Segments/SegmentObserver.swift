import CurlEngine
import Threading
import TransferCore
import TransferModel

/// Reports a segmented download to the task as if it were one stream: the first answer, and not the answer of each
/// segment.
final class SegmentObserver: TransferObserver {
    private let recorder: RunRecorder
    /// The bytes held of a file with gaps; nil if the first exchange itself reports where it resumes.
    private let held: ByteCount?
    private let hasAnswer: Guarded<Bool>

    /// - Parameter hasAnswer: the task already knows the first answer.
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
        // An answer that starts the file over is always reported.
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
