import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

struct CredentialHandlersTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    private func parameters(
        _ user: String? = "anna", _ change: (inout SetCredential) -> Void = { _ in }
    ) -> SetCredential {
        var credential = DecisionCredential(username: user ?? "", password: "Zq7secret")
        if user == nil { credential.username = nil }
        var parameters = SetCredential(
            protectionSpace: CredentialSpace(host: "A.org", port: 443, protocol: "https"), credential: credential)
        change(&parameters)
        return parameters
    }

    @Test func noPasswordIsEverTold() async throws {
        let set = try await bench.call(Methods.setCredential, parameters())
        #expect(set.credential.protectionSpace.host == "a.org" && set.credential.isDefault)
        #expect(set.credential.persistence == .permanent)
        let list = try await bench.call(Methods.listCredentials, .init())
        #expect(list.credentials == [set.credential])
        let written = String(decoding: JSONCoding.encode(list), as: UTF8.self)
        #expect(!written.contains("Zq7secret") && written.contains("anna"))
    }

    /// Nobody can name another user's credentials, not even an administrator.
    @Test func nobodySeesAnothers() async throws {
        _ = try await bench.call(Methods.setCredential, parameters())
        for peer in [Bench.other, Bench.root] {
            #expect(try await bench.call(Methods.listCredentials, .init(), as: peer).credentials.isEmpty)
            let removed = try await bench.call(
                Methods.removeCredentials, .init(protectionSpace: parameters().protectionSpace), as: peer)
            #expect(removed.removed == 0)
        }
        let removed = try await bench.call(
            Methods.removeCredentials, .init(protectionSpace: parameters().protectionSpace, username: "anna"))
        #expect(removed.removed == 1)
    }

    @Test func whatCannotBeStoredIsRefusedByName() async throws {
        let refused: [(SetCredential, String)] = [
            (parameters(nil), "credential"), (parameters(""), "credential"),
            (parameters { $0.credential.password = nil }, "credential"),
            (parameters { $0.credential.certificate = "/c.pem" }, "credential"),
            (parameters("a:b"), "credential.username"),
            (parameters { $0.credential.password = "a\nb" }, "credential.password"),
            (parameters { $0.credential.persistence = CredentialPersistence.none }, "credential.persistence"),
            (parameters { ($0.session, $0.credential.persistence) = ("shared", .permanent) }, "credential.persistence"),
            (parameters { $0.protectionSpace.host = "" }, "protectionSpace.host"),
            (parameters { $0.protectionSpace.port = -1 }, "protectionSpace.port"),
            (parameters { $0.protectionSpace.protocol = "ftp" }, "protectionSpace.protocol"),
            (parameters { $0.protectionSpace.method = .clientCertificate }, "protectionSpace.method"),
        ]
        for (parameters, field) in refused {
            do {
                _ = try await bench.call(Methods.setCredential, parameters)
                #expect(Bool(false), "\(field) was taken")
            } catch let error as TransferError {
                #expect(error.code == .badField && error.details["field"] == .string(field), "\(error)")
            }
        }
        #expect(try await bench.call(Methods.listCredentials, .init()).credentials.isEmpty)
    }

    @Test func aSessionHasItsOwn() async throws {
        let ofSession = parameters { $0.session = "shared" }
        #expect(try await bench.call(Methods.setCredential, ofSession).credential.persistence == .session)
        #expect(try await bench.call(Methods.listCredentials, .init()).credentials.isEmpty)
        #expect(try await bench.call(Methods.listCredentials, .init(session: "shared")).credentials.count == 1)
        do {
            _ = try await bench.call(Methods.listCredentials, .init(session: "nobody"))
            #expect(Bool(false), "there is no such session")
        } catch let error as TransferError {
            #expect(error.code == .sessionNotFound)
        }
    }
}
