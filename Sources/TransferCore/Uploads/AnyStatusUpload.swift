import TransferModel

/// An upload that any final answer completes: if its strategy would fail because of a status, the answer is the result.
///
/// The protocol's own reactions to a status (asking for the offset, starting over, sending smaller pieces) stay.
struct AnyStatusUpload: TransferStrategy {
    private var strategy: any TransferStrategy<UploadResult>
    private let size: ByteCount
    private let asksChallenges: AskedChallenges
    /// Asks a server what it supports: its answer is not the answer to the upload.
    private static let inquiry = "OPTIONS"
    private var method: String?

    init(_ strategy: any TransferStrategy<UploadResult>, size: ByteCount, asksChallenges: AskedChallenges = .none) {
        self.strategy = strategy
        self.size = size
        self.asksChallenges = asksChallenges
    }

    var progress: Acceptance? { strategy.progress }
    var upload: UploadProgress? { strategy.upload }

    mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        let held = strategy.upload?.offset ?? .zero
        let step = strategy.next(after: outcome)
        defer { method = step.exchange?.method }
        guard case .failed(let failure) = step, let outcome, Self.isOfStatus(failure, outcome), method != Self.inquiry
        else { return step }
        if failure.redirect != nil { return step }
        if let head = outcome.head, asksChallenges.include(head) { return step }
        return .finished(outcome.uploadResult(total: min(size, held + outcome.sent)))
    }

    private static func isOfStatus(_ failure: AttemptFailure, _ outcome: ExchangeOutcome) -> Bool {
        guard let status = outcome.answer()?.status, !(200..<300).contains(status) else { return false }
        return [.httpStatus, .authRequired, .authFailed, .permissionDenied].contains(failure.error.code)
    }
}
