import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import DaemonKit

struct CookieKeeperTests {
    private let keeper = CookieKeeper(time: SystemTime())

    private func record(_ id: Int64, owner: UInt32 = 1) -> TaskRecord {
        var spec = TaskSpec()
        spec.url = "http://a.org/x"
        let status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
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
    }

    /// What one owner's tasks leave has a bound, and costs another owner's nothing.
    @Test func theOldestGiveWayWithinTheirOwner() throws {
        try run(1, owner: 2, sets: ["a=b"])
        let large = (0..<180).map { "n\($0)=" + String(repeating: "x", count: 4000) }
        for id in 2...10 { try run(Int64(id), sets: large) }
        #expect(try field(keeper.cookies(of: record(2), policy())) == nil)
        #expect(try field(keeper.cookies(of: record(10), policy())) != nil)
        #expect(try field(keeper.cookies(of: record(1, owner: 2), policy())) == "a=b")
    }
}
