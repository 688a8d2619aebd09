import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

struct CookieHandlersTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    private func cookie(_ name: String, _ domain: String = "a.org", _ change: (inout Cookie) -> Void = { _ in })
        -> Cookie
    {
        var cookie = Cookie(name: name, value: "Zq7secret", domain: domain)
        change(&cookie)
        return cookie
    }

    @Test func valuesAreToldOnlyToWhoAsks() async throws {
        _ = try await bench.call(
            Methods.setCookies, .init(cookies: [cookie("k"), cookie("l", "b.a.org"), cookie("m", "c.org")]))
        let all = try await bench.call(Methods.listCookies, .init())
        #expect(all.cookies.map(\.name) == ["k", "l", "m"] && all.cookies.allSatisfy { $0.value == nil })
        let some = try await bench.call(Methods.listCookies, .init(domain: ".A.org", secrets: true))
        #expect(some.cookies.map(\.name) == ["k", "l"] && some.cookies.allSatisfy { $0.value == "Zq7secret" })
    }

    /// Nobody can name another user's cookies, not even an administrator.
    @Test func nobodySeesAnothers() async throws {
        _ = try await bench.call(Methods.setCookies, .init(cookies: [cookie("k")]))
        for peer in [Bench.other, Bench.root] {
            #expect(try await bench.call(Methods.listCookies, .init(secrets: true), as: peer).cookies.isEmpty)
            #expect(try await bench.call(Methods.removeCookies, .init(), as: peer).removed == 0)
        }
        #expect(try await bench.call(Methods.listCookies, .init()).cookies.count == 1)
    }

    @Test func removesWhatSatisfiesEverything() async throws {
        _ = try await bench.call(
            Methods.setCookies,
            .init(cookies: [cookie("k"), cookie("k", "b.a.org"), cookie("k") { $0.path = "/x" }, cookie("l")]))
        #expect(try await bench.call(Methods.removeCookies, .init(domain: "a.org", path: "/", name: "k")).removed == 2)
        #expect(try await bench.call(Methods.removeCookies, .init()).removed == 2)
    }

    @Test func whatNoServerCouldSetIsRefusedByName() async throws {
        let refused: [(Cookie, String)] = [
            (cookie(""), ""), (cookie("a=b"), "cookies[0]"), (cookie("a;b"), "cookies[0]"),
            (cookie("a\u{1}"), "cookies[0]"),
            (cookie(" k"), "cookies[0].name"), (cookie("k\t"), "cookies[0].name"),
            (cookie("k") { $0.value = " v" }, "cookies[0].value"),
            (cookie("k") { $0.value = "v " }, "cookies[0].value"),
            (cookie("k") { $0.value = "\t" }, "cookies[0].value"),
            (cookie("k", ""), "cookies[0].domain"), (cookie("k", "a b"), "cookies[0].domain"),
            (cookie("k", "☃.net"), "cookies[0].domain"), (cookie("k", ".."), "cookies[0].domain"),
            (cookie("k", "a..b"), "cookies[0].domain"), (cookie("k", "*.a.org"), "cookies[0].domain"),
            (cookie("k", "9999-99-99T00:00:00Z"), "cookies[0].domain"),
            (cookie("k", "co.uk") { $0.hostOnly = false }, "cookies[0].domain"),
            (cookie("k") { $0.path = "x" }, "cookies[0].path"),
            (cookie("__Host-k"), "cookies[0]"), (cookie("k") { $0.sameSite = Cookie.SameSite.none }, "cookies[0]"),
            (cookie(String(repeating: "n", count: 4096)), "cookies[0]"),
        ]
        for (cookie, field) in refused where !field.isEmpty {
            let error = await #expect(throws: TransferError.self) {
                try await bench.call(Methods.setCookies, .init(cookies: [cookie]))
            }
            #expect(error?.code == .badField && error?.details["field"] == .string(field), "\(cookie)")
        }
        #expect(try await bench.call(Methods.listCookies, .init()).cookies.isEmpty)
    }

    /// What a server may set is kept as it is: inside a value, blanks and tabs are part of it (RFC 6265bis section 5.6).
    @Test func blanksInsideAValueStay() async throws {
        _ = try await bench.call(Methods.setCookies, .init(cookies: [cookie("k") { $0.value = "a \t b" }]))
        let all = try await bench.call(Methods.listCookies, .init(secrets: true))
        #expect(all.cookies.map(\.value) == ["a \t b"])
    }

    @Test func whatBecameOfThemIsCounted() async throws {
        let end = Timestamp.now().advanced(by: 3600)
        let some = [cookie("k"), cookie("l", ".A.org") { $0.expires = end }, cookie("m", "127.0.0.1")]
        let first = try await bench.call(Methods.setCookies, .init(cookies: some))
        #expect(first == StoredCookies(set: 3, replaced: 0, unchanged: 0, expired: 0, evicted: 0))
        let second = try await bench.call(
            Methods.setCookies,
            .init(
                cookies: some + [
                    cookie("k") { $0.value = "new" }, cookie("n") { $0.expires = Timestamp(milliseconds: 1) },
                ]))
        #expect(second == StoredCookies(set: 5, replaced: 1, unchanged: 3, expired: 1, evicted: 0))
        let many = (0..<Bounds.cookiesOfDomain + 5).map { cookie("x\($0)", "b.org") }
        #expect(try await bench.call(Methods.setCookies, .init(cookies: many)).evicted == 5)
        // Those of an earlier call give way too.
        let more = (0..<20).map { cookie("y\($0)", "b.org") }
        #expect(try await bench.call(Methods.setCookies, .init(cookies: more)).evicted == 20)
    }

    /// An address has no names below it.
    @Test func theCookieOfAnAddressIsForItAlone() async throws {
        _ = try await bench.call(Methods.setCookies, .init(cookies: [cookie("k", "127.0.0.1") { $0.hostOnly = false }]))
        #expect(try await bench.call(Methods.listCookies, .init()).cookies.map(\.hostOnly) == [true])
    }

    @Test func aSessionThatIsOverHasNone() async throws {
        var configuration = SessionConfiguration()
        configuration.httpCookieStorage = .session
        _ = try await bench.call(Methods.openSession, .init(id: "s", configuration: configuration))
        _ = try await bench.call(Methods.setCookies, .init(session: "s", cookies: [cookie("k")]))
        _ = try await bench.call(Methods.invalidateSession, .init(id: "s"))
        let refusal = await bench.refusal(Methods.setCookies, .init(session: "s", cookies: [cookie("k")]))
        #expect(refusal?.code == .sessionNotFound)
    }

    @Test func sessionsWithoutAStoreSaySo() async throws {
        let missing = await #expect(throws: TransferError.self) {
            try await bench.call(Methods.listCookies, .init(session: "none"))
        }
        #expect(missing?.code == .sessionNotFound)
        let error = await #expect(throws: TransferError.self) {
            try await bench.call(Methods.listCookies, .init(session: "shared"))
        }
        #expect(error?.code == .badField && error?.details["field"] == "session")
    }
}
