import DaemonSetup
import Logging
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

struct CookieKeeperTests {
    private let folder: TemporaryFolder
    private let store: TransferStore
    private let keepers: Keepers
    private var keeper: CookieKeeper { keepers.cookies }

    init() throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        keepers = Keepers(store: store, logger: Logger(label: "test"))
    }

    private func record(_ id: Int64, owner: UInt32 = 1, attempts: Int = 2) -> TaskRecord {
        var spec = TaskSpec()
        spec.url = "http://a.org/x"
        var status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
        status.attempts = attempts
        return TaskRecord(
            id: TaskID(id), session: .shared(of: UserID(owner)), spec: spec, status: status, host: "h", position: 0)
    }

    private func policy(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> CookiePolicy {
        var configuration = SessionConfiguration()
        change(&configuration)
        return CookiePolicy(configuration)
    }

    private func field(_ cookies: TaskCookies?) throws -> String? {
        let url = try #require(CookieURL("http://a.org/x"))
        return cookies?.field(for: CookieRequest(url), without: [])
    }

    private func run(_ id: Int64, owner: UInt32 = 1, sets fields: [String]) throws {
        let cookies = try #require(keeper.cookies(of: record(id), policy()))
        cookies.receive(fields, from: try #require(CookieURL("http://a.org/x")))
        keeper.keep(cookies, of: TaskID(id), UserID(owner))
    }

    @Test func theNextAttemptHasThemAndNoOtherTask() throws {
        try run(1, sets: ["a=b"])
        #expect(
            try field(keeper.cookies(of: record(1, attempts: 1), policy())) == nil, "a first attempt looks for none")
        #expect(try field(keeper.cookies(of: record(2), policy())) == nil)
        #expect(try field(keeper.cookies(of: record(1), policy())) == "a=b")
        #expect(try field(keeper.cookies(of: record(1), policy())) == nil, "taken once")
    }

    @Test func aTaskThatIsOverLeavesNone() throws {
        try run(1, sets: ["a=b"])
        keeper.forget(TaskID(1))
        #expect(try field(keeper.cookies(of: record(1), policy())) == nil)
    }

    @Test func policies() throws {
        #expect(keeper.cookies(of: record(1), policy { $0.httpCookieStorage = CookieStorageKind.none }) == nil)
        let mute = try #require(keeper.cookies(of: record(1), policy { $0.httpShouldSetCookies = false }))
        mute.receive(["a=b"], from: try #require(CookieURL("http://a.org/")))
        #expect(try field(mute) == nil)
        let strict = policy { $0.httpCookieAcceptPolicy = .onlyFromMainDocumentDomain }
        #expect(strict.takes(from: "www.a.org", main: "a.org") && !strict.takes(from: "b.org", main: "a.org"))
        var looks = 0
        func main() -> String {
            looks += 1
            return "a.org"
        }
        let isTaken = policy().takes(from: "b.org", main: main())
        #expect(isTaken && looks == 0, "asked for if it matters")
    }

    /// The attempt begins at the target of a redirect from another site, about which the client was asked.
    @Test func strictCookiesStayBehindAfterAnotherSite() throws {
        var crossing = policy()
        crossing.crossedSites = true
        for (chosen, expected) in [(policy(), "s=1; l=2"), (crossing, "l=2")] {
            let cookies = try #require(keeper.cookies(of: record(1), chosen))
            cookies.receive(
                ["s=1; SameSite=Strict", "l=2; SameSite=Lax"], from: try #require(CookieURL("http://a.org/x")))
            #expect(try field(cookies) == expected)
        }
    }

    // MARK: Stores

    private static let anna = UserID(7)

    private func stored() async throws -> [String] {
        try await store.read {
            try $0.cookies().map { "\($0.owner) \($0.session) \($0.cookie.name)=\($0.cookie.value)" }
        }
    }

    /// Cookies set by a task of one session are sent by a task of another, also after a restart, but not by other
    /// owners' tasks.
    @Test func anOwnersCookiesAreOnTheDisk() async throws {
        let shared = policy { $0.httpCookieStorage = .shared }
        try #require(keeper.cookies(of: record(1), shared)).receive(
            ["a=b", "gone=1; max-age=0"], from: try #require(CookieURL("http://a.org/x")))
        #expect(try field(keeper.cookies(of: record(2), shared)) == "a=b")
        #expect(try field(keeper.cookies(of: record(3, owner: 2), shared)) == nil)
        // A later write is stored later.
        try await store.write { _ in }
        #expect(try await stored() == ["1  a=b"])
        let next = CookieKeeper(store: store)
        try await next.kept.load()
        #expect(try field(next.cookies(of: record(2), shared)) == "a=b")
    }

    @Test func aReplacedCookieStaysInItsPlace() async throws {
        let place = OwnedPlace.shared(Self.anna)
        let cookies = ["one", "two", "one"].enumerated().map { Cookie(name: $1, value: "\($0)", domain: "a.org") }
        try await keeper.set(cookies, in: place)
        let next = CookieKeeper(store: store)
        try await next.kept.load()
        #expect(next.list(place).map { $0.name + $0.value } == ["one2", "two1"])
        #expect(try await next.remove(in: place) { $0.name == "one" } == 1)
        #expect(try await stored() == ["7  two=1"])
    }

    /// All members of a cookie come back from the disk.
    @Test func everyMemberIsStored() async throws {
        let whole = Cookie(
            name: "", value: "v", domain: "a.org", path: "/p", expires: Timestamp.now().advanced(by: 1000),
            secure: true,
            httpOnly: true, sameSite: .strict, hostOnly: false)
        try await keeper.set([whole], in: .shared(Self.anna))
        #expect(try await store.read { try $0.cookies().map(\.cookie) } == [whole])
    }

    /// A session's own cookies end with it, and those of an ended session are not read again.
    @Test func aSessionHasItsOwn() async throws {
        let key = SessionKey(owner: Self.anna, identifier: "photos")
        try await store.write {
            try $0.insertSession(SessionRecord(key: key, kind: .background, createdAt: Timestamp(milliseconds: 0)))
        }
        let cookie = Cookie(name: "k", value: "v", domain: "a.org")
        try await keeper.set([cookie], in: .session(key))
        #expect(keeper.list(.shared(Self.anna)).isEmpty && keeper.list(.session(key)).count == 1)
        let next = CookieKeeper(store: store)
        try await next.kept.load()
        #expect(next.list(.session(key)) == [cookie])
        next.forget(.session(key))
        #expect(next.list(.session(key)).isEmpty)
        try await store.write {
            try $0.updateSession(
                SessionRecord(key: key, state: .invalidated, createdAt: Timestamp(milliseconds: 0)))
        }
        try await keeper.set([cookie], in: .session(SessionKey(owner: Self.anna, identifier: "no such")))
        try await CookieKeeper(store: store).kept.load()
        #expect(try await stored().isEmpty)
    }

    /// However many sessions there were.
    @Test func nothingOfAnEndedSessionStaysInMemory() async throws {
        let key = SessionKey(owner: Self.anna, identifier: "over")
        try await keeper.set([Cookie(name: "k", value: "v", domain: "a.org")], in: .session(key))
        keepers.follow(
            [EventRecord(time: Timestamp(milliseconds: 0), type: .sessionInvalidated, session: key)], isVolatile: false)
        #expect(keeper.list(.session(key)).isEmpty)
        let storage = CookieStorage()
        for number in 0..<100 {
            let cookie = Cookie(name: "k", value: "v", domain: "a.org")
            let now = Timestamp(milliseconds: 0)
            _ = storage.change("\(number)", at: now) { $0.put(cookie, at: now) }
            _ = storage.change("\(number)", at: now) { $0.remove { _ in true } }
        }
        #expect(storage.jarCount == 0)
    }

    @Test func aVolatileSessionsAreNotStored() async throws {
        let key = SessionKey(owner: Self.anna, identifier: "v")
        try await keeper.set([Cookie(name: "k", value: "v", domain: "a.org")], in: .volatile(key))
        #expect(keeper.list(.volatile(key)).count == 1)
        #expect(try await stored().isEmpty)
        keeper.forget(.volatile(key))
        #expect(keeper.list(.volatile(key)).isEmpty)
    }

    /// An owner has at most 3,000: the session with the most loses some, and another owner loses nothing.
    @Test func ownersHaveABoundOfTheirOwn() async throws {
        try await keeper.set([Cookie(name: "k", value: "v", domain: "quiet.org")], in: .shared(UserID(8)))
        let key = SessionKey(owner: Self.anna, identifier: "s")
        for (place, count) in [(OwnedPlace.shared(Self.anna), 10), (.session(key), 20)] {
            for site in 0..<count {
                try await keeper.set(
                    (0..<180).map { Cookie(name: "n\($0)", value: "v", domain: "x\(site).org") }, in: place)
            }
        }
        #expect(keeper.list(.shared(Self.anna)).count == 1500 && keeper.list(.session(key)).count == 1500)
        #expect(keeper.list(.shared(UserID(8))).count == 1)
        #expect(try await stored().count == 3001)
    }

    /// Cookies that are set in pieces are all stored, in order.
    @Test func manyAreSetInPieces() async throws {
        let place = OwnedPlace.shared(Self.anna)
        let names = (0..<120).map { "n\($0)" }
        try await keeper.set(names.map { Cookie(name: $0, value: "v", domain: "a.org") }, in: place)
        #expect(keeper.list(place).map(\.name) == names)
        #expect(try await store.read { try $0.cookies().map(\.cookie.name) } == names)
    }

    /// Sessions share the owner's limit: expired cookies make room before any others.
    @Test func whatHasEndedMakesRoom() throws {
        let storage = CookieStorage(most: 2)
        func put(_ name: String, in session: String, ends: Int64? = nil, at now: Int64) -> [String] {
            let cookie = Cookie(
                name: name, value: "v", domain: name + ".org", expires: ends.map { Timestamp(milliseconds: $0) })
            let now = Timestamp(milliseconds: now)
            let changed = storage.change(session, at: now) { $0.put(cookie, at: now) }
            return changed.flatMap { session, keys in keys.map { "\(session) \($0.name)" } }.sorted()
        }
        #expect(put("lasting", in: "a", at: 0) == ["a lasting"])
        #expect(put("short", in: "b", ends: 10, at: 0) == ["b short"])
        #expect(put("new", in: "a", at: 10) == ["a new", "b short"])
        #expect(storage.jar("a").all.map(\.name) == ["lasting", "new"] && storage.isEmpty("b"))
    }

    @Test func whatHasEndedIsNotReadAgain() async throws {
        let past = Timestamp.now().advanced(by: -1)
        let ends: [(String, Timestamp?)] = [("gone", past), ("here", past.advanced(by: 1000)), ("lasting", nil)]
        for (name, end) in ends {
            let cookie = Cookie(name: name, value: "v", domain: "a.org", expires: end)
            try await store.write {
                try $0.put(StoredCookie(owner: Self.anna, session: "", cookie: cookie, created: 1))
            }
        }
        try await keeper.kept.load()
        #expect(try await store.read { try $0.cookies().map(\.cookie.name).sorted() } == ["here", "lasting"])
    }

    /// What one owner's tasks leave is limited, and costs another owner nothing.
    @Test func theOldestGiveWayWithinTheirOwner() throws {
        try run(1, owner: 2, sets: ["a=b"])
        let large = (0..<180).map { "n\($0)=" + String(repeating: "x", count: 4000) }
        for id in 2...10 { try run(Int64(id), sets: large) }
        #expect(try field(keeper.cookies(of: record(2), policy())) == nil)
        #expect(try field(keeper.cookies(of: record(10), policy())) != nil)
        #expect(try field(keeper.cookies(of: record(1, owner: 2), policy())) == "a=b")
    }
}
