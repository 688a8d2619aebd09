import Foundation
import Testing
import TransferModel

@testable import TransferStore

/// The credentials of sessions move into the common table.
@Suite struct Migration0028Tests {
    @Test func credentialsOfSessionsGoOn() async throws {
        let fixture = Fixture()
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let connection = try Connection(fixture.database, .writing)
        try Schema.migrate(connection, upTo: "0027")
        try connection.write {
            try $0.execute(
                """
                INSERT INTO meta VALUES ('store_id', 's'), ('created_at', '0');
                INSERT INTO session VALUES (1, 7, 's', 'background', 'active', '{}', 0, NULL, 0);
                """)
            for (origin, proxy, method) in [
                ("https://a1.org:443", 0, nil), ("http://[::1]:8080", 0, "ntlm"), ("http://p9:3128", 1, nil),
            ] as [(String, Int, String?)] {
                try $0.execute(
                    """
                    INSERT INTO session_credential (session, origin, is_proxy, username, password, method) \
                    SELECT id, ?, ?, 'anna', 'secret', ? FROM session
                    """, origin, proxy, method)
            }
        }
        connection.close()
        let found = try await fixture.open().write { try $0.credentials() }
        #expect(found.allSatisfy { $0.owner == UserID(7) && $0.session == "s" })
        let spaces = Set(found.map(\.credential.space))
        #expect(
            spaces == [
                CredentialSpace(host: "a1.org", port: 443, protocol: "https"),
                CredentialSpace(host: "::1", port: 8080, protocol: "http", method: .ntlm),
                CredentialSpace(host: "p9", port: 3128, protocol: "http", isProxy: true),
            ])
        #expect(found.allSatisfy { $0.credential.username == "anna" && $0.credential.password == "secret" })
        #expect(found.allSatisfy { $0.credential.isDefault && !$0.credential.isRefused })
    }
}
