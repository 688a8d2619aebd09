import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import FileKit

/// What the network thread gets of local files: never a path that it would have to wait for.
struct PinnedFilesTests {
    private let temporary: TemporaryFolder
    private let me = UserID(geteuid())

    init() throws {
        temporary = try TemporaryFolder()
        for name in ["ca", "certificate", "key", "netrc"] { try Files.write(temporary.file(name), "the \(name)") }
    }

    private func options() -> NetworkOptions {
        var network = NetworkOptions()
        network.caFile = temporary.file("ca")
        network.netrcPath = temporary.file("netrc")
        network.clientCertificate = ClientCertificate(certificate: temporary.file("certificate"))
        network.clientCertificate?.key = temporary.file("key")
        return network
    }

    private func pin(
        _ network: NetworkOptions, owner: UserID? = nil, _ mode: FileAccess.Mode = .user
    ) throws -> PinnedFiles {
        try PinnedFiles(
            Boxed(wrappedValue: network), "http://a/f", FileAccess(mode: mode), owner: owner ?? me)
    }

    @Test func theirTextsAreRead() throws {
        let texts = try pin(options()).network.certificates
        #expect(texts.authorities == Array("the ca".utf8))
        #expect(texts.certificate == Array("dld: \(me)\nthe certificate".utf8))
        #expect(texts.key == Array("the key".utf8))
    }

    @Test func oneCertificateOfTwoUsersIsTwo() throws {
        let hers = try pin(options(), owner: UserID(40017)).network.certificates.certificate
        let his = try pin(options(), owner: UserID(40023)).network.certificates.certificate
        #expect(hers != his)
    }

    @Test func passwordsAreThoseThatWereReadWhateverBecomesOfTheFile() throws {
        let pinned = try pin(options())
        try Files.write(temporary.file("netrc"), "other")
        let path = try #require(pinned.network.netrcPath)
        #expect(try Files.text(path) == "the netrc")
        #expect(try Files.text(path) == "the netrc")
    }

    @Test(arguments: ["ca", "certificate", "key", "netrc"])
    func whatIsNoFileOrHasNoEndIsRefused(_ name: String) throws {
        let path = temporary.file(name)
        unlink(path)
        #expect(code { _ = try pin(options()) } == .sourceUnreadable)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(code { _ = try pin(options()) } == .sourceUnreadable)
        unlink(path)
        try Files.write(path, "")
        #expect(truncate(path, 1 << 40) == 0)
        #expect(code { _ = try pin(options()) } == .sourceUnreadable)
    }

    /// The configuration's file is the administrator's choice, the task's is its user's.
    @Test func theSystemDaemonsOwnAuthoritiesMayBeAnywhere() throws {
        let system = FileAccess.Mode.system(root: temporary.file("files"))
        var network = NetworkOptions()
        network.caFile = temporary.file("ca")
        #expect(code { _ = try pin(network, system) } == .permissionDenied)
        network.caFileIsTheDaemons = true
        #expect(try pin(network, system).network.certificates.authorities == Array("the ca".utf8))
    }

    @Test func nothingIsReadWhereNothingIsNamed() throws {
        #expect(!PinnedFiles.namesFiles(Boxed(wrappedValue: NetworkOptions())))
        #expect(try pin(NetworkOptions()).network == NetworkOptions())
    }
}
