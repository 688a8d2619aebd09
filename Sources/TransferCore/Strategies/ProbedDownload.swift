import TransferModel

/// Downloads over FTP and SFTP, where size and modification time are the only validators. It asks for both before each
/// attempt, because REST alone proves nothing (RFC 3659).
struct ProbedDownload: TransferStrategy {
    private let url: ParsedURL
    private let mirror: String?
    private let size: ByteCount?
    private let network: NetworkOptions
    private let trustedDigest: Bool
    private let checkpoint: Checkpoint?
    private let startOffset: ByteCount
    /// libcurl's errors that mean the server cannot resume from an offset: QUOTE_ERROR (a command of ours was refused),
    /// FTP_COULDNT_USE_REST, RANGE_ERROR, BAD_DOWNLOAD_RESUME.
    private static let cannotResume: Set<Int> = [21, 31, 33, 36]

    private var stage = Stage.probing
    private var restarts = 0
    private(set) var progress: Acceptance?

    private enum Stage: Sendable {
        case probing
        case fetching(StatJudge)
    }

    /// - Throws: `request.bad_field` for a folder, or another type than the bytes as they are.
    init(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        if let why = url.whyNoFile {
            throw TransferError.bad("url", why)
        }
        self.url = url
        mirror = request.mirror
        size = request.spec.size
        var network = request.network
        network.chooseCredentials(for: url, [])
        self.network = network
        trustedDigest = request.trustedDigest
        checkpoint = request.checkpoint.flatMap { $0.offset > 0 ? $0 : nil }
        startOffset = checkpoint?.offset ?? 0
    }

    mutating func next(after outcome: ExchangeOutcome?) -> Step<Arrival> {
        guard let outcome else { return .run(probe()) }
        switch (stage, outcome.end) {
        case (.probing, .finished): return probed(outcome)
        case (.fetching(let judge), .finished): return fetched(outcome, judge)
        case (.fetching, .stopped(.restart(let error))): return restart(error)
        case (.fetching, .transport(let code, _)) where Self.cannotResume.contains(code):
            return restart(
                TransferError(.validatorChanged, "The server cannot continue from an offset; it restarts from 0."))
        case (.fetching, .overrun): return restart(.overrun)
        case (.probing, .stopped), (.probing, .transport), (.probing, .local), (.probing, .aborted),
            (.probing, .stalled), (.probing, .overrun), (.probing, .refusedRedirect), (.fetching, .stopped),
            (.fetching, .transport), (.fetching, .local), (.fetching, .aborted), (.fetching, .stalled),
            (.fetching, .refusedRedirect):
            return failed(outcome)
        }
    }

    private mutating func probe() -> Exchange {
        stage = .probing
        var exchange = Exchange(url: url.requestURL, judge: ProbeJudge())
        exchange.kind = .probe
        exchange.network = network
        return exchange
    }

    private mutating func probed(_ outcome: ExchangeOutcome) -> Step<Arrival> {
        let size = outcome.head?.size
        let validators = Validators(lastModified: outcome.head?.modificationTime.map(HTTPDate.format))
        guard let checkpoint, restarts == 0 else { return .run(fetch(from: 0, size: size, validators)) }
        if let reason = restartReason(checkpoint, size: size, validators) {
            let error = TransferError(.validatorChanged, "\(reason); the download restarts from 0.")
            return .restart(error, then: fetch(from: 0, size: size, validators))
        }
        if checkpoint.offset == size {
            return .finished(Arrival(total: checkpoint.offset, lengthProven: true, head: outcome.head))
        }
        return .run(fetch(from: checkpoint.offset, size: size, validators))
    }

    /// nil if the file on the server is the one that is held.
    private func restartReason(_ checkpoint: Checkpoint, size: ByteCount?, _ validators: Validators) -> String? {
        guard let size else { return "The server does not say the file's size" }
        if let total = checkpoint.total, total != size { return "The file's size has changed" }
        if size < checkpoint.offset { return "The file has become shorter" }
        switch (checkpoint.validators.lastModified, validators.lastModified) {
        case (let held?, let now?): return held == now ? nil : "The file's modification time has changed"
        case (nil, _), (_, nil): return trustedDigest ? nil : "The server does not say when the file was modified"
        }
    }

    private mutating func fetch(from offset: ByteCount, size: ByteCount?, _ validators: Validators) -> Exchange {
        let judge = StatJudge(offset: offset, size: size, validators: validators)
        stage = .fetching(judge)
        var exchange = Exchange(url: url.requestURL, judge: judge)
        exchange.startOffset = offset
        exchange.network = network
        return exchange.answered(by: mirror, size: size)
    }

    private mutating func fetched(_ outcome: ExchangeOutcome, _ judge: StatJudge) -> Step<Arrival> {
        let accepted = judge.acceptance
        progress = accepted
        if let size = judge.size, outcome.offset < size { return failed(outcome) }
        return .finished(
            Arrival(
                total: outcome.offset, lengthProven: judge.size != nil, head: outcome.head,
                lastModified: accepted.validators.lastModified))
    }

    /// The file changed between probe and fetch, or offsets do not work here: start again with the probe, from 0.
    private mutating func restart(_ error: TransferError) -> Step<Arrival> {
        restarts += 1
        progress = nil
        guard restarts <= HTTPDownload.restartLimit else {
            return .failed(.transient(error))
        }
        return .restart(error, then: probe())
    }

    private func failed(_ outcome: ExchangeOutcome) -> Step<Arrival> {
        .failed(FailureClassifier.classify(outcome, url: url.requestURL).after(outcome, from: startOffset))
    }
}

/// A probe has no body.
struct ProbeJudge: ResponseJudge {
    /// Whether a refusal counts: the refusal of a probe only means that there is no answer to it.
    var isStrict = false
    /// Address of the proxy in between, if one is named.
    var proxy: String?

    func judge(_ head: ResponseHead) -> Verdict {
        if isStrict, let refusal = head.refusal(byGateway: proxy) { return refusal }
        return .accept(Acceptance(offset: 0, expected: 0))
    }
}

extension ResponseHead {
    /// An HTTP proxy speaks FTP on our behalf and answers with a status: its error page is not the file.
    fileprivate func refusal(byGateway proxy: String?) -> Verdict? {
        guard let status, !(200..<300).contains(status) else { return nil }
        return .failure(FailureClassifier.proxyStatus(status, reason: reason, address: proxy))
    }
}

/// Accepts the file that the probe saw, at the requested offset.
struct StatJudge: ResponseJudge {
    var offset: ByteCount
    var size: ByteCount?
    var validators: Validators

    var acceptance: Acceptance {
        Acceptance(
            offset: offset, truncate: offset == 0, expected: size.map { $0 - offset }, total: size,
            validators: validators)
    }

    func judge(_ head: ResponseHead) -> Verdict {
        if let refusal = head.refusal(byGateway: nil) { return refusal }
        if let now = head.size, let size, now != size { return changed("size") }
        if let now = head.modificationTime.map(HTTPDate.format), let held = validators.lastModified, now != held {
            return changed("modification time")
        }
        return .accept(acceptance)
    }

    private func changed(_ what: String) -> Verdict {
        .restart("The file's \(what) has changed; the download restarts from 0.")
    }
}
