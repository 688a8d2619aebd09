import Testing
import TransferModel

@testable import TransferCore

@Suite struct GitCredentialTests {
    private func demand(_ host: String, _ port: Int, _ scheme: String = "https") -> ProtectionSpace {
        ProtectionSpace(host: host, port: port, protocol: scheme, realm: "r", method: .httpBasic, isProxy: false)
    }

    private static let now = Timestamp(milliseconds: 1_700_000_000_500)

    private func answer(_ output: [UInt8]) -> HelperAnswer { GitCredential.answer(output, at: Self.now) }

    private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    @Test func hostsHaveTheirPortUnlessItIsTheUsualOne() {
        #expect(text(GitCredential.request(for: demand("a.org", 443))) == "protocol=https\nhost=a.org\n\n")
        #expect(text(GitCredential.request(for: demand("a.org", 443, "http"))) == "protocol=http\nhost=a.org:443\n\n")
        #expect(text(GitCredential.request(for: demand("::1", 8443))) == "protocol=https\nhost=[::1]:8443\n\n")
        #expect(
            text(GitCredential.request(for: demand("a", 443), "anna", "p=w"))
                == "protocol=https\nhost=a\nusername=anna\npassword=p=w\n\n")
        #expect(GitCredential.request(for: demand("a", 443), "an\nna", "p") == nil)
    }

    /// The times are those at which git itself stops using a password: an end now is not over, and no number is no end.
    @Test(
        arguments: [
            ("1699999999", true), ("1700000000", false), ("1700000001", false), ("0", false), ("-1", false),
            ("soon", false), ("", false), ("99999999999999999999", false), ("1", true),
        ])
    func whatHasExpiredIsNotUsed(end: String, isOver: Bool) {
        let said = answer(Array("password_expiry_utc=\(end)\nusername=anna\npassword=p\n".utf8))
        if isOver {
            #expect(said == .failed("It gave a password that has expired."))
        } else {
            #expect(said.credential?.password == "p")
        }
    }

    /// What belongs to a password goes back to the helper with it.
    @Test func attributesOfAPasswordGoBack() {
        let found = answer(
            Array("username=a\npassword=p\noauth_refresh_token=t=1\npassword_expiry_utc=1700000001\nelse=x\n".utf8)
        ).credential
        let attributes = found?.attributes ?? [:]
        #expect(attributes == ["oauth_refresh_token": "t=1", "password_expiry_utc": "1700000001"])
        #expect(
            text(GitCredential.request(for: demand("a", 443), "a", "p", attributes: attributes))
                == "protocol=https\nhost=a\nusername=a\npassword=p\noauth_refresh_token=t=1\n"
                + "password_expiry_utc=1700000001\n\n")
    }

    @Test func whatIsNoCredentialIsNone() {
        let first = answer(Array("a=b\nusername=anna\npassword=p=w \n\npassword=late\n".utf8))
        #expect(first == .credential(FoundCredential(username: "anna", password: "p=w ", source: .helper)))
        let lines = answer(Array("username=anna\r\npassword=p\r\n\r\npassword=late\r\n".utf8))
        #expect(lines == .credential(FoundCredential(username: "anna", password: "p", source: .helper)))
        for text in ["", "\n", "\r\n", "username=a\npassword=p\nquit=1\n"] {
            #expect(answer(Array(text.utf8)) == .nothing, "\(text)")
        }
        let secret = "Zq7secretqZ"
        for (text, why) in [
            ("username=anna\n", "no password"), ("password=\(secret)\n", "no user name"),
            ("username=\npassword=\(secret)\n", "no user name"), ("username=a:b\npassword=\(secret)\n", "colon"),
            ("username=a\npassword=\(secret)\u{7}\n", "control"), ("\nusername=a\npassword=\(secret)\n", "key=value"),
            ("username=a\npassword=\(secret)" + String(repeating: "p", count: 9000) + "\n", "too long"),
            ("\(secret) is the password\n", "key=value"),
        ] {
            guard case .failed(let reason) = answer(Array(text.utf8)) else {
                return #expect(Bool(false), "\(text)")
            }
            #expect(reason.contains(why) && !reason.contains(secret), "\(text): \(reason)")
        }
        guard case .failed = answer(Array("username=a\npassword=".utf8) + [0xFF, 10]) else {
            return #expect(Bool(false))
        }
    }
}
