/// Downloads over SFTP: stat before reading from an offset.
package struct SFTPDownload: TransferStrategy {
    package static let descriptor = StrategyDescriptor(schemes: [.sftp], canResume: true, usesHTTP: false)
    private var probed: ProbedDownload

    init(_ request: StrategyRequest, _ url: ParsedURL) { probed = ProbedDownload(request, url) }

    package var progress: Acceptance? { probed.progress }
    package mutating func next(after outcome: ExchangeOutcome?) -> Step { probed.next(after: outcome) }
}
