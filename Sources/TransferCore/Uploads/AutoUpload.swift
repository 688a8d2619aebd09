import TransferModel

/// Asks the server with OPTIONS which upload protocol it supports, then becomes that protocol. All servers support put;
/// with put, a URL that ends in a slash is the folder that the file goes into.
package struct AutoUpload: TransferStrategy {
    private let request: UploadRequest
    private var chosen: (any TransferStrategy<UploadResult>)?
    private var wasAskedAgain = false
    /// libcurl's errors for servers that cannot answer OPTIONS: WEIRD_SERVER_REPLY and GOT_NOTHING.
    private static let mute: Set<Int> = [8, 52]
    /// Server errors that mean that the method is not supported.
    private static let unknownMethod: Set<Int> = [501, 505]
    /// Temporary refusals, which say nothing about the protocols that the server supports (RFC 9110 section 15.5.9, RFC
    /// 8470 section 5.2, RFC 6585 section 4).
    private static let notNow: Set<Int> = [408, 425, 429]

    package var upload: UploadProgress? { chosen?.upload }
    package var progress: Acceptance? { nil }

    init(_ request: UploadRequest) { self.request = request }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<UploadResult> {
        if chosen != nil { return chosen?.next(after: outcome) ?? .run(ask()) }
        guard let outcome else { return .run(ask()) }
        // One failure may be an accident, and another protocol would put the file elsewhere.
        if Self.isMute(outcome), !wasAskedAgain {
            wasAskedAgain = true
            return .run(ask())
        }
        do throws(AttemptFailure) {
            return begin(try choose(outcome))
        } catch {
            return .failed(error)
        }
    }

    private func ask() -> Exchange {
        let version = ResumableFields(version: request.spec.interopVersion ?? 8)
        return request.exchange("OPTIONS", request.url.requestURL, own: [version.interop])
    }

    private mutating func begin(_ strategy: any TransferStrategy<UploadResult>) -> Step<UploadResult> {
        var strategy = strategy
        let step = strategy.next(after: nil)
        chosen = strategy
        return step
    }

    private static func isMute(_ outcome: ExchangeOutcome) -> Bool {
        guard case .transport(let code, _) = outcome.end, outcome.head == nil else { return false }
        return mute.contains(code)
    }

    private func choose(_ outcome: ExchangeOutcome) throws(AttemptFailure) -> any TransferStrategy<UploadResult> {
        guard let (head, status) = outcome.answer() else {
            if Self.isMute(outcome) {
                return PlainUpload(request.inFolder, .put)
            }
            throw FailureClassifier.classify(outcome, url: request.url.requestURL)
        }
        guard status < 500 || Self.unknownMethod.contains(status), !Self.notNow.contains(status) else {
            throw request.refused(head)
        }
        guard (200..<300).contains(status) else { return PlainUpload(request.inFolder, .put) }
        if !head.values("tus-version").isEmpty || !head.values("tus-resumable").isEmpty {
            try TusCapabilities(head).check(request)
            return TusUpload(request, isChecked: true)
        }
        if let limit = UploadLimit(head) { return ResumableUpload(request, limit: limit) }
        return PlainUpload(request.inFolder, .put)
    }
}
