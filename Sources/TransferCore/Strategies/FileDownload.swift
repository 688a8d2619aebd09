import TransferModel

/// Copies a local file; the open file itself tells size and modification time, so no probe is needed.
package struct FileDownload: TransferStrategy {
    private let url: ParsedURL
    private let network: NetworkOptions
    private let startOffset: ByteCount
    private var judge: FileJudge
    private var restarts = 0
    package private(set) var progress: Acceptance?

    init(_ request: StrategyRequest, _ url: ParsedURL) {
        self.url = url
        network = request.network
        let checkpoint = request.checkpoint.flatMap { $0.offset > 0 ? $0 : nil }
        startOffset = checkpoint?.offset ?? 0
        judge = FileJudge(held: checkpoint, trustedDigest: request.trustedDigest)
    }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<Arrival> {
        guard let outcome else { return .run(exchange()) }
        switch outcome.end {
        case .finished: return finished(outcome)
        case .stopped(.complete): return arrived(outcome, total: startOffset)
        case .stopped(.restart(let error)): return restart(error)
        case .overrun:
            return restart(TransferError(.integrityLength, "The file grew while it was copied; it restarts from 0."))
        case .stopped(.failure), .stopped(.bareRange), .stopped(.redirect), .transport, .local, .aborted, .stalled,
            .refusedRedirect:
            return failed(outcome)
        }
    }

    private func exchange() -> Exchange {
        var exchange = Exchange(url: url.requestURL, judge: judge)
        exchange.startOffset = judge.held?.offset ?? 0
        exchange.network = network
        return exchange
    }

    private mutating func finished(_ outcome: ExchangeOutcome) -> Step<Arrival> {
        guard let head = outcome.head, case .accept(let accepted) = judge.judge(head) else { return failed(outcome) }
        progress = accepted
        if let total = accepted.total, outcome.offset < total { return failed(outcome) }
        return arrived(outcome, total: outcome.offset)
    }

    private func arrived(_ outcome: ExchangeOutcome, total: ByteCount) -> Step<Arrival> {
        .finished(
            Arrival(total: total, lengthProven: outcome.head?.size != nil, head: outcome.head))
    }

    private mutating func restart(_ error: TransferError) -> Step<Arrival> {
        restarts += 1
        judge.held = nil
        progress = nil
        guard restarts <= HTTPDownload.restartLimit else {
            return .failed(.transient(error))
        }
        return .restart(error, then: exchange())
    }

    private func failed(_ outcome: ExchangeOutcome) -> Step<Arrival> {
        .failed(FailureClassifier.classify(outcome, url: url.requestURL).after(outcome, from: startOffset))
    }
}

/// Resumes a copy only from the same file: same size, same modification time.
struct FileJudge: ResponseJudge {
    var held: Checkpoint?
    var trustedDigest: Bool

    func judge(_ head: ResponseHead) -> Verdict {
        let validators = Validators(lastModified: head.modificationTime.map(HTTPDate.format))
        guard let held else { return accept(from: 0, head, validators) }
        let sameTime = held.validators.lastModified != nil && held.validators.lastModified == validators.lastModified
        guard let size = head.size, held.total.map({ $0 == size }) ?? trustedDigest, size >= held.offset,
            sameTime || trustedDigest
        else { return .restart("The file has changed since; the copy restarts from 0.") }
        return held.offset == size ? .stop(.complete) : accept(from: held.offset, head, validators)
    }

    private func accept(from offset: ByteCount, _ head: ResponseHead, _ validators: Validators) -> Verdict {
        .accept(StatJudge(offset: offset, size: head.size, validators: validators).acceptance)
    }
}
