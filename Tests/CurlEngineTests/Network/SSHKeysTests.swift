import Foundation
import TestSupport
import Testing

@testable import CurlEngine

@Suite struct SSHKeysTests {
    @Test func prefersTheKeysThatNewServersTake() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file(".ssh"), withIntermediateDirectories: false)
        for name in ["id_rsa", "id_ed25519", "id_ed25519.pub", "known_hosts"] { try folder.write(".ssh/\(name)", [1]) }
        let keys = SSHKeys.find(knownHosts: nil, home: folder.path)
        #expect(keys.privateKey == folder.file(".ssh/id_ed25519"))
        #expect(keys.publicKey == folder.file(".ssh/id_ed25519.pub"))
        #expect(keys.knownHosts == folder.file(".ssh/known_hosts"))
    }

    @Test func trustsNobodyWithoutAKnownHostsFile() throws {
        let folder = try TemporaryFolder()
        #expect(SSHKeys.find(knownHosts: nil, home: folder.path).knownHosts == "/dev/null")
        #expect(SSHKeys.find(knownHosts: folder.file("missing"), home: nil).knownHosts == "/dev/null")
        #expect(SSHKeys.find(knownHosts: nil, home: nil).privateKey == nil)
    }
}
