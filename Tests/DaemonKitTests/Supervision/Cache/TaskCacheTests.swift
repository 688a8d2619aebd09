import DaemonSetup
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

struct TaskCacheTests {
    private let keeper = CacheKeeper(disk: nil)

    private func cache(
        _ request: RequestCachePolicy = .useProtocolCachePolicy, cookies jar: CookieStorage? = nil
    ) throws -> TaskCache {
        var spec = TaskSpec()
        spec.kind = .data
        let record = TaskRecord(
            id: TaskID(1), session: SessionKey(owner: UserID(7), identifier: "v"), spec: spec,
            status: TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0)), host: "h", position: 0)
        var policy = try #require(CachePolicy(SessionConfiguration(), .default))
        policy.request = request
        let cookies = CookiePolicy(SessionConfiguration(), .default)
        return TaskCache(
            keeper, record, policy, cookies,
            of: jar.map { TaskCookies($0, "", cookies, url: "http://a.org/", time: ManualTime()) },
            TransferRun(record, directHost: nil) { _ in }, ManualTime())
    }

    private func exchange(_ path: String, _ method: String = "GET", language: String? = nil) -> Exchange {
        var exchange = Exchange(url: "http://a.org" + path, judge: CaptureJudge())
        exchange.kind = .request
        exchange.method = method
        if let language { exchange.headers = [HeaderField("Accept-Language", language)] }
        return exchange
    }

    private func head(
        _ path: String, _ status: Int = 200, _ more: (String, String)..., version: String = "1.1"
    ) -> ResponseHead {
        ResponseHead(
            url: "http://a.org" + path, status: status, httpVersion: version,
            headers: [HeaderField("Cache-Control", "max-age=600")] + more.map { HeaderField($0.0, $0.1) })
    }

    private func outcome(_ head: ResponseHead, delimited: Bool = true) -> ExchangeOutcome {
        var outcome = ExchangeOutcome(end: .finished, head: head, delimited: delimited)
        outcome.body = Array("body".utf8)
        return outcome
    }

    /// How a request continues; nil while it waits for another one.
    private final class Ways: Sendable {
        private let known = Guarded<TaskCache.Way?>(nil)
        func take(_ way: TaskCache.Way) { known.withLock { $0 = way } }
        var way: TaskCache.Way? { known.withLock { $0 } }
        var sent: Exchange? { if case .send(let exchange)? = way { exchange } else { nil } }
    }

    private func look(_ cache: TaskCache, _ exchange: Exchange) -> Ways {
        let ways = Ways()
        cache.look(exchange) { ways.take($0) }
        return ways
    }

    private func store(_ path: String) throws {
        let cache = try cache()
        let sent = try #require(look(cache, exchange(path)).sent)
        cache.responded(head(path))
        _ = cache.ended(outcome(head(path)), of: sent)
    }

    private func isStored(_ path: String) throws -> Bool { look(try cache(), exchange(path)).sent == nil }

    /// The end of an HTTP/2 stream shows that an answer is complete; the end of a connection does not.
    @Test(arguments: [("1.1", false), ("2", true)])
    func anAnswerWithoutALengthIsWholeInHTTP2(version: String, isWhole: Bool) throws {
        let cache = try cache()
        let sent = try #require(look(cache, exchange("/x")).sent)
        cache.responded(head("/x", version: version))
        _ = cache.ended(outcome(head("/x", version: version), delimited: false), of: sent)
        #expect(try isStored("/x") == isWhole)
    }

    /// Nothing is loaded where the cache takes no part either.
    @Test(arguments: [nil, "POST", "HEAD"], [nil, "no-store", "only-if-cached"])
    func whoForbidsLoadingGetsAMiss(method: String?, directive: String?) throws {
        for policy in [RequestCachePolicy.returnCacheDataDontLoad, .useProtocolCachePolicy] {
            var exchange = exchange("/x", method ?? "GET")
            exchange.headers = directive.map { [HeaderField("Cache-Control", $0)] } ?? []
            let cache = try cache(policy)
            let way = look(cache, exchange).way
            let isMiss = if case .miss? = way { true } else { false }
            #expect(isMiss == (policy == .returnCacheDataDontLoad || directive == "only-if-cached"))
            #expect(isMiss != cache.mayLoad(exchange))
        }
    }

    /// RFC 9111 section 4.4, for each hop: the requested URL, and those in Location and Content-Location.
    @Test func eachHopOfAnUnsafeRequestInvalidates() throws {
        for path in ["/a", "/b", "/c", "/d", "/e"] { try store(path) }
        let cache = try cache()
        let sent = try #require(look(cache, exchange("/a", "POST")).sent)
        var last = head("/b", 200, ("Content-Location", "/d"))
        last.redirects = 1
        var ended = outcome(last)
        ended.unsafeHops = [
            ExchangeOutcome.Hop(method: "POST", head: head("/a", 307, ("Location", "/b"), ("Content-Location", "/c")))
        ]
        _ = cache.ended(ended, of: sent)
        for path in ["/a", "/b", "/c", "/d"] { #expect(try !isStored(path), "\(path)") }
        #expect(try isStored("/e"))
    }

    /// A GET that follows a POST changes nothing.
    @Test func aRedirectToGETInvalidatesTheHopBefore() throws {
        for path in ["/a", "/b", "/d"] { try store(path) }
        let cache = try cache()
        let sent = try #require(look(cache, exchange("/a", "POST")).sent)
        var last = head("/b", 200, ("Content-Location", "/d"))
        last.redirects = 1
        var ended = outcome(last)
        ended.becameGET = true
        ended.unsafeHops = [ExchangeOutcome.Hop(method: "POST", head: head("/a", 303))]
        _ = cache.ended(ended, of: sent)
        #expect(try !isStored("/a") && isStored("/b") && isStored("/d"))
    }

    /// An answer or a 304 that is in progress is older than the change.
    @Test(arguments: [false, true]) func whatAChangeOvertookIsNotKept(validates: Bool) throws {
        if validates {
            let cache = try cache()
            let sent = try #require(look(cache, exchange("/x")).sent)
            let old = ResponseHead(
                url: "http://a.org/x", status: 200,
                headers: [HeaderField("Cache-Control", "no-cache"), HeaderField("ETag", "\"a\"")])
            cache.responded(old)
            _ = cache.ended(outcome(old), of: sent)
        }
        let slow = try cache()
        let sent = try #require(look(slow, exchange("/x")).sent)
        #expect((sent.ownHeaders.firstIndex(named: "If-None-Match") != nil) == validates)
        let change = try cache()
        _ = change.ended(
            outcome(head("/x", 204)), of: try #require(look(change, exchange("/x", "POST")).sent))
        let answer = head("/x", validates ? 304 : 200, ("ETag", "\"a\""))
        slow.responded(answer)
        _ = slow.ended(outcome(answer), of: sent)
        #expect(try !isStored("/x"))
    }

    /// Vary in the header shows which requests the answer fits. The others do not wait for its end.
    @Test func whoWaitsForAnAnswerOfOthersGoesOnAtItsHead() throws {
        let (first, same, other) = (try cache(), try cache(), try cache())
        let sent = try #require(look(first, exchange("/x", language: "de")).sent)
        let (waits, goesOn) = (
            look(same, exchange("/x", language: "de")), look(other, exchange("/x", language: "fr"))
        )
        #expect(waits.way == nil && goesOn.way == nil)
        let answer = head("/x", 200, ("Vary", "Accept-Language"))
        first.responded(answer)
        #expect(waits.way == nil && goesOn.sent != nil)
        let late = look(try cache(), exchange("/x", language: "fr"))
        #expect(late.sent != nil)
        _ = first.ended(outcome(answer), of: sent)
        guard case .answered? = waits.way else { return #expect(Bool(false), "it was not answered") }
    }

    // MARK: The cookies that are really sent

    private static let alice = "sid=alice"

    private func logIn(_ jar: CookieStorage) {
        _ = jar.change("", at: Timestamp(milliseconds: 0)) { jar in
            jar.receive(
                Self.alice, from: CookieURL(host: "a.org", text: "http://a.org/", isSecure: false),
                at: Timestamp(milliseconds: 0))
        }
    }

    /// The answer belongs to cookies by which nobody has looked. This is also true of a repeated request.
    @Test(arguments: [nil, "Cookie"] as [String?], [false, true])
    func anAnswerToOtherCookiesIsNotKept(vary: String?, isRepeated: Bool) throws {
        let jar = CookieStorage()
        let (cache, waiting) = (try cache(cookies: jar), try self.cache(cookies: jar))
        let sent = try #require(look(cache, exchange("/x")).sent)
        let waits = look(waiting, exchange("/x"))
        #expect(waits.way == nil)
        if isRepeated { cache.sends(cookies: nil) }
        cache.sends(cookies: Self.alice)
        // Nobody waits for it any more.
        #expect(waits.sent != nil)
        let answer = head("/x", 200, ("Vary", vary ?? "Accept"))
        cache.responded(answer)
        _ = cache.ended(outcome(answer), of: sent)
        #expect(try !isStored("/x"))
        // The cookies that chose the answer were sent.
        let next = try self.cache()
        let plain = try #require(look(next, exchange("/x")).sent)
        next.sends(cookies: nil)
        next.responded(answer)
        _ = next.ended(outcome(answer), of: plain)
        #expect(try isStored("/x"))
    }

    /// What was stored for other cookies is neither confirmed nor used in place of an error.
    @Test func anAnswerToOtherCookiesConfirmsNothing() throws {
        let stale = ResponseHead(
            url: "http://a.org/x", status: 200,
            headers: [
                HeaderField("Cache-Control", "max-age=0, stale-if-error=600"), HeaderField("ETag", "\"a\""),
                HeaderField("Vary", "Cookie"),
            ])
        let first = try cache()
        _ = first.ended(outcome(stale), of: try #require(look(first, exchange("/x")).sent))
        for status in [304, 503] {
            let cache = try cache()
            let sent = try #require(look(cache, exchange("/x")).sent)
            #expect(sent.ownHeaders.firstIndex(named: "If-None-Match") != nil)
            cache.sends(cookies: Self.alice)
            let answer = ResponseHead(url: "http://a.org/x", status: status, headers: [HeaderField("ETag", "\"a\"")])
            cache.responded(answer)
            switch cache.ended(outcome(answer), of: sent) {
            case .again(let plain):
                #expect(status == 304 && plain.ownHeaders.firstIndex(named: "If-None-Match") == nil)
                cache.sends(cookies: Self.alice)
                _ = cache.ended(outcome(head("/x")), of: plain)
            case .outcome(let outcome): #expect(status == 503 && outcome.head?.status == 503)
            case .asks: #expect(Bool(false), "nobody asks")
            }
        }
        // What is stored for no cookies is still what it was.
        #expect(look(try cache(), exchange("/x")).sent?.ownHeaders.firstIndex(named: "If-None-Match") != nil)
    }

    /// After a wait, a request has the cookies of that time.
    @Test func whoHasWaitedLooksWithItsCookies() throws {
        let jar = CookieStorage()
        let (first, second) = (try cache(cookies: jar), try cache(cookies: jar))
        let sent = try #require(look(first, exchange("/x")).sent)
        let waits = look(second, exchange("/x"))
        #expect(waits.way == nil)
        logIn(jar)
        let answer = head("/x", 200, ("Vary", "Cookie"))
        first.sends(cookies: nil)
        first.responded(answer)
        _ = first.ended(outcome(answer), of: sent)
        let own = try #require(waits.sent)
        second.sends(cookies: Self.alice)
        second.responded(answer)
        _ = second.ended(outcome(answer), of: own)
        for cookies in [jar, nil] { #expect(look(try cache(cookies: cookies), exchange("/x")).sent == nil) }
    }

    /// Cookies that the caller gives take the place of stored ones of the same name.
    @Test func theCallersCookiesChooseToo() throws {
        let jar = CookieStorage()
        logIn(jar)
        var exchange = exchange("/x")
        exchange.headers = [HeaderField("Cookie", "sid=own")]
        let cache = try cache(cookies: jar)
        let sent = try #require(look(cache, exchange).sent)
        cache.sends(cookies: nil)
        cache.responded(head("/x"))
        _ = cache.ended(outcome(head("/x")), of: sent)
        #expect(look(try self.cache(cookies: jar), exchange).sent == nil)
    }
}
