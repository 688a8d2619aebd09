import Testing
import TransferModel

@testable import TransferCore

@Suite struct GitCredentialTests {
    private func demand(_ host: String, _ port: Int, _ scheme: String = "https") -> ProtectionSpace {
        ProtectionSpace(host: host, port: port, protocol: scheme, realm: "r", method: .httpBasic, isProxy: false)
    }

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

    @Test func whatIsNoCredentialIsNone() {
        let answer = GitCredential.answer(Array("a=b\nusername=anna\npassword=p=w \n\npassword=late\n".utf8))
        #expect(answer == .credential(FoundCredential(username: "anna", password: "p=w ", source: .helper)))
        let lines = GitCredential.answer(Array("username=anna\r\npassword=p\r\n\r\npassword=late\r\n".utf8))
        #expect(lines == .credential(FoundCredential(username: "anna", password: "p", source: .helper)))
        for text in ["", "\n", "\r\n", "username=a\npassword=p\nquit=1\n"] {
            #expect(GitCredential.answer(Array(text.utf8)) == .nothing, "\(text)")
        }
        let secret = "Zq7secretqZ"
        for (text, why) in [
            ("username=anna\n", "no password"), ("password=\(secret)\n", "no user name"),
            ("username=\npassword=\(secret)\n", "no user name"), ("username=a:b\npassword=\(secret)\n", "colon"),
            ("username=a\npassword=\(secret)\u{7}\n", "control"), ("\nusername=a\npassword=\(secret)\n", "key=value"),
            ("username=a\npassword=\(secret)" + String(repeating: "p", count: 9000) + "\n", "too long"),
            ("\(secret) is the password\n", "key=value"),
        ] {
            guard case .failed(let reason) = GitCredential.answer(Array(text.utf8)) else {
                return #expect(Bool(false), "\(text)")
            }
            #expect(reason.contains(why) && !reason.contains(secret), "\(text): \(reason)")
        }
        guard case .failed = GitCredential.answer(Array("username=a\npassword=".utf8) + [0xFF, 10]) else {
            return #expect(Bool(false))
        }
    }
}
