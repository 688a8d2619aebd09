import CLinux
import FileKit
import Glibc
import TransferCore
import TransferModel

/// The local files that a task names, as they are when its attempt begins: their contents, or names that lead to
/// exactly these files.
///
/// Certificates, keys and netrc files for libcurl are read here, on a thread that may block, from regular files only
/// and up to a limit. The network thread reads none of them, whatever has replaced them since the task was added.
struct PinnedFiles: Sendable {
    /// The largest file of certificates or passwords. A system's whole bundle has a quarter of a megabyte.
    static let limit = ByteCount.mebibytes(4)

    @Boxed var network: NetworkOptions
    private var held: [OpenedFile] = []
    private var copies: [Descriptor] = []

    init(_ network: Boxed<NetworkOptions>, _ url: String, _ access: FileAccess, owner: UserID) throws(TransferError) {
        _network = network
        if Self.namesFiles(network) { try readFiles(access, owner) }
        guard access.isConfined, Self.isLocal(url) else { return }
        let parsed = try URLRules.parse(url)
        if let path = parsed.filePath {
            let file = try access.openForReading(path, owner: owner)
            held.append(file)
            self.network.localFile = file.descriptorPath
        }
    }

    /// Tells whether there is anything to read.
    static func namesFiles(_ network: Boxed<NetworkOptions>) -> Bool {
        network.wrappedValue.caFile != nil || network.wrappedValue.netrcPath != nil
            || network.wrappedValue.clientCertificate != nil
            || network.wrappedValue.tls?.places.contains { $0.certificate != nil } == true
    }

    /// Tells whether a URL names a local file.
    static func isLocal(_ url: String) -> Bool {
        let scheme = "file:".utf8
        return url.utf8.count >= scheme.count
            && zip(url.utf8, scheme).allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }

    /// The paths of the files to open.
    static func paths(_ network: NetworkOptions, _ url: String) -> [String] {
        let certificate = network.clientCertificate
        let answered = network.tls?.places.flatMap { [$0.certificate?.certificate, $0.certificate?.key] } ?? []
        let named = [network.caFile, certificate?.certificate, certificate?.key, network.netrcPath] + answered
        return (named + [(try? URLRules.parse(url))?.filePath]).compactMap { $0 }
    }

    private mutating func readFiles(_ access: FileAccess, _ owner: UserID) throws(TransferError) {
        if let path = network.caFile {
            let access = network.caFileIsTheDaemons ? FileAccess(mode: .user) : access
            network.certificates.authorities = try Self.read(path, access, owner)
        }
        if let certificate = network.clientCertificate {
            try Self.read(certificate, into: &network.certificates, access, owner)
        }
        if var tls = network.tls {
            for index in tls.places.indices {
                guard let certificate = tls.places[index].certificate else { continue }
                try Self.read(certificate, into: &tls.places[index].texts, access, owner)
            }
            network.tls = tls
        }
        if let path = network.netrcPath {
            network.netrcPath = try copy(try Self.read(path, access, owner), of: path)
        }
    }

    private static func read(
        _ client: ClientCertificate, into texts: inout CertificateTexts, _ access: FileAccess, _ owner: UserID
    ) throws(TransferError) {
        // PEM begins at the line BEGIN (RFC 7468 section 2). The text before it separates the connections of one user
        // from those of another who has the certificate, which is not secret, but not its key.
        texts.certificate = Array("dld: \(owner)\n".utf8) + (try read(client.certificate, access, owner))
        if let path = client.key { texts.key = try read(path, access, owner) }
    }

    static func read(_ path: String, _ access: FileAccess, _ owner: UserID) throws(TransferError) -> [UInt8] {
        let file = try access.openForReading(path, owner: owner)
        let most = Int(limit.rawValue)
        var bytes: [UInt8] = []
        while bytes.count <= most {
            var piece = [UInt8](repeating: 0, count: 64 << 10)
            let (count, code) = retrying {
                pread(file.fileDescriptor, &piece, piece.count, off_t(bytes.count))
            }
            guard count >= 0 else { throw .source(errno: code, path) }
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
        throw TransferError(
            .sourceUnreadable,
            "\(path) has more than \(limit) bytes, too many for a file of certificates or passwords.",
            details: ["path": .string(path)])
    }

    /// Returns the name of a memory file, for code that accepts only names. The name is valid as long as this value
    /// exists.
    private mutating func copy(_ bytes: [UInt8], of path: String) throws(TransferError) -> String {
        let descriptor = dld_memory_file()
        guard descriptor >= 0 else { throw .source(errno: errno, path) }
        copies.append(Descriptor(descriptor))
        if let code = bytes.withUnsafeBytes({ writeAll($0, to: descriptor) }) { throw .source(errno: code, path) }
        return "/proc/self/fd/\(descriptor)"
    }
}
