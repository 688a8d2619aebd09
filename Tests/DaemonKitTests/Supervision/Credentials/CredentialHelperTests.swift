import Logging
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import DaemonKit

struct CredentialHelperTests {
    private static let demand = ProtectionSpace(
        host: "a.org", port: 8443, protocol: "https", realm: "r", method: .httpBasic, isProxy: false)
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func helper(_ command: String?) -> CredentialHelper {
        CredentialHelper(environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"], logger: Logger(label: "test")) {
            command
        }
    }

    private func script(_ text: String) throws -> CredentialHelper {
        try Files.write(folder.file("helper"), "#!/bin/sh\n" + text, mode: 0o700)
        return helper(folder.file("helper"))
    }

    /// The real program, as git starts it.
    @Test(.enabled(if: Requirements.has("git"))) func gitsOwnStoreGivesKeepsAndForgets() async throws {
        let file = folder.file("credentials")
        let helper = helper("git credential-store --file \(file)")
        #expect(helper.isSet)
        #expect(await helper.get(for: Self.demand) == nil)
        await helper.store("anna", "p@s s=w", for: Self.demand)
        #expect(try Files.text(file) == "https://anna:p%40s%20s%3dw@a.org%3a8443\n")
        let found = await helper.get(for: Self.demand)
        #expect(found == FoundCredential(username: "anna", password: "p@s s=w", source: .helper))
        var other = Self.demand
        other.port = 443
        #expect(await helper.get(for: other) == nil)
        await helper.erase("anna", "p@s s=w", for: Self.demand)
        #expect(await helper.get(for: Self.demand) == nil)
    }

    @Test func itIsToldTheActionAndTheDemand() async throws {
        let helper = try script("echo \"$@\" > \(folder.file("said"))\ncat >> \(folder.file("said"))\n")
        await helper.store("anna", "p", for: Self.demand)
        #expect(
            try Files.text(folder.file("said"))
                == "store\nprotocol=https\nhost=a.org:8443\nusername=anna\npassword=p\n\n")
    }

    @Test func whatFailsHasNone() async throws {
        let none = helper(nil)
        #expect(!none.isSet)
        #expect(await none.get(for: Self.demand) == nil)
        #expect(await helper("/no/such/program").get(for: Self.demand) == nil)
        let failing = try script("echo username=a; echo password=p; exit 1\n")
        #expect(await failing.get(for: Self.demand) == nil)
        let endless = try script("echo username=a; echo password=p; yes\n")
        #expect(await endless.get(for: Self.demand) == nil)
        let deaf = try script("exec < /dev/null; echo username=a; echo password=p\n")
        #expect(await deaf.get(for: Self.demand)?.username == "a")
    }
}
