import TransferCore
import TransferModel

/// Local files of a task held open while it runs, and the names that reach exactly them.
struct PinnedFiles: Sendable {
    @Boxed var network: NetworkOptions
    var url: String
    private var held: [OpenedFile] = []

    init(_ network: Boxed<NetworkOptions>, _ url: String, _ access: FileAccess, owner: UserID) throws(TransferError) {
        _network = network
        self.url = url
        guard case .system = access.mode else { return }
        self.network.caFile = try pin(self.network.caFile, access, owner)
        self.network.netrcPath = try pin(self.network.netrcPath, access, owner)
        if var certificate = self.network.clientCertificate {
            certificate.certificate = try pin(certificate.certificate, access, owner) ?? ""
            certificate.key = try pin(certificate.key, access, owner)
            self.network.clientCertificate = certificate
        }
        let parsed = try URLRules.parse(url)
        if let path = parsed.filePath {
            self.url = "file://" + (try pin(path, access, owner) ?? "")
        }
    }

    private mutating func pin(
        _ path: String?, _ access: FileAccess, _ owner: UserID
    ) throws(TransferError) -> String? {
        guard let path else { return nil }
        let file = try access.openForReading(path, owner: owner)
        held.append(file)
        return file.descriptorPath
    }
}
