import Testing
import TransferModel

@testable import TransferCore

@Suite struct CredentialListTests {
    private static let demand = ProtectionSpace(
        host: "a.org", port: 443, protocol: "https", realm: "files", method: .httpBasic, isProxy: false)

    private func space(_ change: (inout CredentialSpace) -> Void = { _ in }) -> CredentialSpace {
        var space = CredentialSpace(host: "a.org", port: 443, protocol: "https")
        change(&space)
        return space
    }

    private func credential(_ user: String, _ space: CredentialSpace) -> StoredCredential {
        StoredCredential(space: space, username: user, password: "of \(user)", persistence: .permanent)
    }

    /// RFC 9110 section 11.5: a protection space is the origin and the realm. Here it also includes the method, and
    /// whether it belongs to a proxy.
    @Test func aCredentialAnswersItsOwnSpaceAlone() {
        let others: [(inout CredentialSpace) -> Void] = [
            { $0.host = "b.org" }, { $0.port = 8443 }, { $0.protocol = "http" }, { $0.realm = "other" },
            { $0.method = .httpDigest }, { $0.isProxy = true },
        ]
        for change in others { #expect(!space(change).covers(Self.demand)) }
        let fitting: [(inout CredentialSpace) -> Void] = [
            { _ in }, { $0.realm = "files" }, { $0.method = .httpBasic },
            { ($0.realm, $0.method) = ("files", .httpBasic) },
        ]
        for change in fitting { #expect(space(change).covers(Self.demand)) }
    }

    @Test func whatSaysMostGoesFirst() {
        var list = CredentialList()
        let rising: [(inout CredentialSpace) -> Void] = [
            { _ in }, { $0.method = .httpBasic }, { $0.realm = "files" },
            { ($0.realm, $0.method) = ("files", .httpBasic) },
        ]
        for (number, change) in rising.enumerated() {
            list.keep(credential("u\(number)", space(change)))
            #expect(list.choice(for: Self.demand)?.username == "u\(number)")
        }
        list.keep(credential("late", space()))
        #expect(list.choice(for: Self.demand)?.username == "u3")
    }

    @Test func eachSpaceHasOneDefault() {
        var list = CredentialList()
        list.keep(credential("anna", space()))
        list.keep(credential("bert", space()))
        #expect(list.all.map(\.isDefault) == [true, false])
        list.keep(credential("carl", space()), isDefault: true)
        #expect(list.all.map(\.isDefault) == [false, false, true])
        list.keep(credential("carl", space()), isDefault: false)
        #expect(list.choice(for: Self.demand) == nil)
        // A credential that is stored again keeps its position, with the new password.
        var changed = credential("anna", space())
        changed.password = "new"
        list.keep(changed)
        #expect(list.all.count == 3 && list.choice(for: Self.demand)?.password == "new")
    }

    /// A task may name its user.
    @Test func aUserHasNobodyElsesCredential() {
        var list = CredentialList()
        list.keep(credential("anna", space()))
        list.keep(credential("bert", space()))
        #expect(list.choice(for: Self.demand, of: "bert")?.password == "of bert")
        #expect(list.choice(for: Self.demand, of: "carl") == nil)
        _ = list.refuse("bert", "of bert", by: Self.demand)
        #expect(list.choice(for: Self.demand, of: "bert") == nil)
    }

    @Test func aRefusedOneIsNotSentUntilItIsStoredAnew() {
        var list = CredentialList()
        list.keep(credential("anna", space()))
        list.keep(credential("bert", space { $0.realm = "other" }))
        let passwords = ["another", "of anna", "of anna"]
        let news = passwords.map { password in list.refuse("anna", password, by: Self.demand) }
        #expect(news == [false, true, false])
        #expect(list.choice(for: Self.demand) == nil && list.all.map(\.isRefused) == [true, false])
        list.keep(credential("anna", space()))
        #expect(list.choice(for: Self.demand)?.username == "anna")
    }

    /// No other password is tried because one was refused.
    @Test func aRefusedDefaultStaysTheDefault() {
        var list = CredentialList()
        list.keep(credential("anna", space()))
        list.keep(credential("bert", space()))
        _ = list.refuse("anna", "of anna", by: Self.demand)
        #expect(list.choice(for: Self.demand) == nil)
        list.keep(credential("carl", space()))
        #expect(list.choice(for: Self.demand)?.username == "carl")
    }

    @Test func removesWhatIsMeant() {
        var list = CredentialList()
        for realm in [nil, "files", "other"] {
            list.keep(credential("anna", space { $0.realm = realm }))
            list.keep(credential("bert", space { $0.realm = realm }))
        }
        list.keep(credential("anna", space { $0.isProxy = true }))
        let removed = [
            list.remove(at: space { $0.realm = "files" }, username: "anna"),
            list.remove(at: space(), username: "bert"), list.remove(at: space(), username: nil),
        ]
        #expect(removed == [1, 3, 2])
        #expect(list.all.map(\.space.isProxy) == [true])
    }

    @Test func whatCannotBeASpaceIsRefusedByName() throws {
        let refused: [((inout CredentialSpace) -> Void, String)] = [
            ({ $0.host = "" }, "s.host"), ({ $0.host = "a b" }, "s.host"), ({ $0.host = "a/b" }, "s.host"),
            ({ $0.host = "u@a" }, "s.host"), ({ $0.host = "a:1" }, "s.host"), ({ $0.port = 0 }, "s.port"),
            ({ $0.port = 70_000 }, "s.port"), ({ $0.protocol = "ftp" }, "s.protocol"),
            ({ $0.realm = String(repeating: "r", count: Bounds.realm + 1) }, "s.realm"),
            ({ $0.method = .serverTrust }, "s.method"), ({ $0.host = String(repeating: "a", count: 300) }, "s.host"),
        ]
        for (change, field) in refused {
            do {
                _ = try space(change).normalized("s")
                #expect(Bool(false), "\(field) was taken")
            } catch {
                #expect(error.details["field"] == .string(field) && error.message.hasPrefix("\(field): "))
            }
        }
        #expect(try space { $0.host = "A.ORG" }.normalized("s").host == "a.org")
        #expect(try space { $0.host = "::1" }.normalized("s").origin == "https://[::1]:443")
        #expect(try space { $0.realm = "a\u{202E}" }.normalized("s").realm == "a\u{FFFD}")
    }
}
