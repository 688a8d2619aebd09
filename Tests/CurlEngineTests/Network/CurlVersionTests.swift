import Testing

@testable import CurlEngine

@Suite struct CurlVersionTests {
    @Test func namesTheProtocolsThatTransfersNeed() {
        let info = CurlEngine.versionInfo()
        #expect(info.version.contains("."))
        #expect(Set(info.protocols).isSuperset(of: ["http", "https", "ftp", "ftps", "sftp"]))
    }
}
