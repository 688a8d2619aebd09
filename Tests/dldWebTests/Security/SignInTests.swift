import FoundationEssentials
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import dld_web

@Suite struct SignInTests {
    private let folder: TemporaryFolder
    private let file: StateFile

    init() throws {
        folder = try TemporaryFolder()
        file = try StateFile(in: folder.path + "/web")
    }

    @Test func aKeyWorksOnceAndForAMinute() {
        let (signIn, now) = (SignIn(file), ContinuousClock.now)
        let key = signIn.makeKey(now: now)
        #expect(key.count >= 22)
        #expect(signIn.open(key, now: now + .seconds(59), time: 0) != nil)
        #expect(signIn.open(key, now: now + .seconds(59), time: 0) == nil)
        let late = signIn.makeKey(now: now)
        #expect(signIn.open(late, now: now + .seconds(60), time: 0) == nil)
        #expect(signIn.open("", now: now, time: 0) == nil)
    }

    @Test func eightKeysAreOpenAtATime() {
        let (signIn, now) = (SignIn(file), ContinuousClock.now)
        let keys = (0..<9).map { _ in signIn.makeKey(now: now) }
        #expect(keys.map { signIn.open($0, now: now, time: 0) != nil } == [false] + .init(repeating: true, count: 8))
    }

    @Test func aSessionEndsAfterThirtyDaysWithoutUse() throws {
        let signIn = SignIn(file)
        let day = 86_400.0
        let cookie = try #require(signIn.open(signIn.makeKey(), time: 0))
        #expect(signIn.session(of: cookie, time: 29 * day) != nil)
        // The use on day 29 counts.
        #expect(signIn.session(of: cookie, time: 58 * day) != nil)
        #expect(signIn.session(of: cookie, time: 89 * day) == nil)
        #expect(signIn.session(of: cookie + "x", time: 58 * day) == nil)
    }

    @Test func sessionsAndTokensOutliveARestart() throws {
        let signIn = SignIn(file)
        let cookie = try #require(signIn.open(signIn.makeKey(), time: 0))
        let token = signIn.token(of: try #require(signIn.session(of: cookie, time: 1)))
        let again = SignIn(try StateFile(in: folder.path + "/web"))
        let session = try #require(again.session(of: cookie, time: 1))
        #expect(again.token(of: session) == token)
        #expect(!token.isEmpty && token != cookie)
        let stored = try String(
            decoding: Data(contentsOf: URL(filePath: folder.path + "/web/dld-web.json")), as: UTF8.self)
        #expect(!stored.contains(cookie) && !stored.contains(token))
    }

    @Test func aLostStateSignsOut() throws {
        let signIn = SignIn(file)
        let cookie = try #require(signIn.open(signIn.makeKey(), time: 0))
        try Data("garbage".utf8).write(to: URL(filePath: folder.path + "/web/dld-web.json"))
        #expect(SignIn(try StateFile(in: folder.path + "/web")).session(of: cookie, time: 1) == nil)
    }

    @Test func revokingTellsWhoHasEnded() throws {
        let signIn = SignIn(file)
        let cookies = try (0..<3).map { _ in try #require(signIn.open(signIn.makeKey(), time: 0)) }
        let first = try #require(signIn.session(of: cookies[0], time: 0))
        let ended = NIOLockedValueBox<[Set<String>]>([])
        signIn.ended.withLockedValue { $0 = { gone in ended.withLockedValue { $0.append(gone) } } }
        #expect(signIn.revoke("nobody") == 0)
        #expect(signIn.revoke(first.id) == 1)
        #expect(signIn.revoke(nil) == 2)
        #expect(ended.withLockedValue { $0 }.map(\.count) == [1, 2])
        #expect(cookies.allSatisfy { signIn.session(of: $0, time: 0) == nil })
    }
}
