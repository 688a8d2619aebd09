/// Downloads over FTP and FTPS: SIZE and MDTM before REST, because REST alone proves nothing (RFC 3659).
package struct FTPDownload: TransferStrategy {
    package static let descriptor = StrategyDescriptor(schemes: [.ftp, .ftps], canResume: true, usesHTTP: false)
    private var probed: ProbedDownload

    init(_ request: StrategyRequest, _ url: ParsedURL) { probed = ProbedDownload(request, url) }

    package var progress: Acceptance? { probed.progress }
    package mutating func next(after outcome: ExchangeOutcome?) -> Step { probed.next(after: outcome) }
}
