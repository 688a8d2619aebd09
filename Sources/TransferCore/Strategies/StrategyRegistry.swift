import TransferModel

/// What a strategy is given: the task, what is held of it, and how to reach the server.
package struct StrategyRequest: Sendable {
    package var spec: TaskSpec
    /// Its offset was verified against the part file; nil where nothing is held.
    package var checkpoint: Checkpoint?
    package var network: NetworkOptions
    /// The finished file is checked against a digest of the caller, so no splice can go unnoticed.
    package var trustedDigest: Bool
    package var sessionHeaders: [HeaderField]
    package var now: Timestamp

    package init(
        spec: TaskSpec, checkpoint: Checkpoint? = nil, network: NetworkOptions = NetworkOptions(),
        trustedDigest: Bool = false, sessionHeaders: [HeaderField] = [], now: Timestamp
    ) {
        self.spec = spec
        self.checkpoint = checkpoint
        self.network = network
        self.trustedDigest = trustedDigest
        self.sessionHeaders = sessionHeaders
        self.now = now
    }
}

/// What a strategy can do, for `daemon.info` and the contract suite.
package struct StrategyDescriptor: Sendable, Hashable {
    package var schemes: [URLScheme]
    package var canResume: Bool
    /// Header fields, methods and bodies of the task mean something.
    package var usesHTTP: Bool
}

/// Knows which strategy carries which scheme; nothing else names the concrete types.
package enum StrategyRegistry {
    package static let descriptors: [StrategyDescriptor] = [
        HTTPDownload.descriptor, FTPDownload.descriptor, SFTPDownload.descriptor, FileDownload.descriptor,
        DataURLDownload.descriptor,
    ]

    package static var schemes: [String] { descriptors.flatMap(\.schemes).map(\.rawValue) }

    /// - Throws: `request.bad_url`, `request.bad_field`, `request.unsupported`, `policy.plaintext_refused`.
    package static func strategy(for request: StrategyRequest) throws(TransferError) -> any TransferStrategy {
        guard request.spec.kind == .download else {
            throw TransferError(
                .unsupported, "This version only downloads; kind \(request.spec.kind.rawValue) comes later.")
        }
        let url = try URLRules.parse(request.spec.url ?? "")
        guard request.network.allowsPlaintext || !url.scheme.isPlaintext else {
            throw TransferError(
                .plaintextRefused,
                "\(url.scheme.rawValue) is not encrypted and allowsArbitraryLoads is false; use https or sftp.")
        }
        switch url.scheme {
        case .http, .https: return try HTTPDownload(request, url)
        case .ftp, .ftps: return FTPDownload(request, url)
        case .sftp: return SFTPDownload(request, url)
        case .file: return FileDownload(request, url)
        case .data: return try DataURLDownload(request, url)
        }
    }
}
