import Testing
import TransferModel

@testable import TransferCore

/// Returns an upload of `size` bytes by the protocol `name`.
func uploadRequest(
    _ name: String?, size: Int64 = 100, url: String = "https://example.org/files", stored: UploadProgress? = nil,
    change: (inout TaskSpec) -> Void = { _ in }
) -> StrategyRequest {
    var prepared = request(url) { spec in
        spec.kind = .upload
        spec.source = SourceFile(path: "/home/u/fox.txt")
        spec.uploadProtocol = name
        change(&spec)
    }
    prepared.source = identity(size)
    prepared.upload = stored
    prepared.nonce = "nonce"
    return prepared
}

func identity(_ size: Int64 = 100) -> SourceIdentity {
    SourceIdentity(device: 1, inode: 2, size: ByteCount(size), modified: 3)
}

func begun(
    _ kind: UploadProtocol, at resource: String? = nil, offset: Int64 = 0, size: Int64 = 100
) -> UploadProgress {
    UploadProgress(
        uploadProtocol: kind, resourceURL: resource, offset: ByteCount(offset), source: identity(size),
        createdAt: reading().wall)
}

func answer(
    _ status: Int, _ fields: KeyValuePairs<String, String> = [:], url: String = "https://example.org/files",
    body: String = "", sent: Int64 = 0
) -> ExchangeOutcome {
    var outcome = ExchangeOutcome(end: .finished, head: head(status, fields, url: url))
    outcome.body = Array(body.utf8)
    outcome.sent = ByteCount(sent)
    return outcome
}

func lost(_ code: Int = 56, sent: Int64 = 0) -> ExchangeOutcome {
    var outcome = ExchangeOutcome(end: .transport(code: code, message: "lost"))
    outcome.sent = ByteCount(sent)
    return outcome
}

extension Step {
    var failure: AttemptFailure? { if case .failed(let failure) = self { failure } else { nil } }
    var result: UploadResult? { if case .finished(let result as UploadResult) = self { result } else { nil } }
    var stored: UploadProgress? { if case .store(let progress, _) = self { progress } else { nil } }
    var restartCause: TransferError? { if case .restart(let error, _) = self { error } else { nil } }
}

typealias Stepper = Steps<UploadResult>

/// A strategy that a test steps itself.
struct Steps<Yield: Sendable> {
    private(set) var strategy: any TransferStrategy<Yield>
    private(set) var step: Step<Yield>

    private init(of strategy: any TransferStrategy<Yield>) {
        self.strategy = strategy
        step = self.strategy.next(after: nil)
    }

    @discardableResult
    mutating func after(_ outcome: ExchangeOutcome) -> Step<Yield> {
        step = strategy.next(after: outcome)
        return step
    }

    var exchange: Exchange { get throws { try #require(step.exchange) } }
}

extension Steps<UploadResult> {
    init(_ request: StrategyRequest) throws { self.init(of: try StrategyRegistry.upload(for: request)) }
}

extension Steps<Arrival> {
    init(_ request: StrategyRequest) throws { self.init(of: try StrategyRegistry.download(for: request)) }
}
