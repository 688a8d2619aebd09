import TransferModel

/// "Downloads" the content of a data URL; the engine decodes it with `DataURL.decode` and writes it like any body.
package struct DataURLDownload: TransferStrategy {
    package static let descriptor = StrategyDescriptor(schemes: [.data], canResume: false, usesHTTP: false)

    private let url: String
    private let size: ByteCount
    package private(set) var progress: Acceptance?

    /// - Throws: `request.bad_url` if the data cannot be decoded.
    init(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        self.url = url.requestURL
        size = ByteCount(Int64(try DataURL.decode(url.requestURL).bytes.count))
    }

    private var judge: StatJudge { StatJudge(offset: 0, size: size, validators: Validators()) }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<Arrival> {
        guard let outcome else { return .run(Exchange(url: url, judge: judge)) }
        guard outcome.end == .finished, outcome.offset == size else {
            return .failed(FailureClassifier.classify(outcome, url: url))
        }
        progress = judge.acceptance
        return .finished(Arrival(total: size, lengthProven: true, head: outcome.head))
    }
}
