import Testing
import TransferModel

@testable import TransferCore

/// RFC 9111 sections 4, 5.2.1 and 5.4, RFC 5861, and the policies of NSURLRequest.
struct CacheRequestTests {
    private static let now: Int64 = 1_767_225_600

    private func exchange(_ headers: [(String, String)], method: String? = "GET") -> Exchange {
        var exchange = Exchange(url: "http://a.org/x", judge: CaptureJudge())
        exchange.kind = .request
        exchange.method = method
        exchange.headers = headers.map { HeaderField($0.0, $0.1) }
        return exchange
    }

    private func request(
        _ headers: [(String, String)] = [], _ policy: RequestCachePolicy = .useProtocolCachePolicy
    ) throws -> CacheRequest {
        try #require(CacheRequest(exchange(headers), policy))
    }

    /// An answer that was stored 100 seconds ago.
    private func stored(_ headers: [(String, String)]) -> StoredResponse {
        StoredResponse(
            status: 200, headers: headers.map { HeaderField($0.0, $0.1) }, requestTime: Self.now - 100,
            responseTime: Self.now - 100, selection: CacheSelection(text: "accept-encoding"))
    }

    private enum Use { case serve, validate, load, miss }

    private func use(_ request: CacheRequest, _ stored: StoredResponse?) -> Use {
        switch request.use(of: stored, at: Self.now) {
        case .serve: .serve
        case .validate: .validate
        case .load: .load
        case .miss: .miss
        }
    }

    // MARK: Where the cache stays out

    @Test(
        arguments: ["Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"])
    func conditionsOfTheCallerAreItsOwn(_ name: String) {
        #expect(CacheRequest(exchange([(name, "x")]), .useProtocolCachePolicy) == nil)
    }

    @Test func onlyPlainRequestsConcernIt() {
        for method in ["HEAD", "POST", "PUT", "get2"] {
            #expect(CacheRequest(exchange([], method: method), .useProtocolCachePolicy) == nil)
        }
        var withBody = exchange([])
        withBody.payload = .bytes([1])
        #expect(CacheRequest(withBody, .useProtocolCachePolicy) == nil)
        #expect(CacheRequest(exchange([("Cache-Control", "no-store")]), .useProtocolCachePolicy) == nil)
        #expect(CacheRequest(exchange([], method: nil), .useProtocolCachePolicy) != nil)
    }

    @Test func credentialsAreTold() throws {
        #expect(try request().credentials == nil)
        let one = try request([("Authorization", "Basic a")]).credentials
        #expect(one != nil)
        #expect(try request([("Authorization", "Basic b")]).credentials != one)
        var named = exchange([])
        (named.network.username, named.network.password) = ("a", "bc")
        var other = exchange([])
        (other.network.username, other.network.password) = ("ab", "c")
        let policy = RequestCachePolicy.useProtocolCachePolicy
        #expect(CacheRequest(named, policy)?.credentials != CacheRequest(other, policy)?.credentials)
    }

    /// Cookies, keys and certificates of a caller or a session identify the requester. Shared cookies of the owner
    /// belong to the owner.
    @Test func whatTheCallerAloneHasCountsAsCredentials() throws {
        let policy = RequestCachePolicy.useProtocolCachePolicy
        #expect(try request([("Cookie", "sid=a")]).credentials != nil)
        #expect(try request([("Cookie", "sid=a")]).credentials != request([("Cookie", "sid=b")]).credentials)
        #expect(CacheRequest(exchange([]), policy, cookies: "sid=a")?.credentials != nil)
        var shared = exchange([])
        shared.ownHeaders = [HeaderField("Cookie", "sid=a")]
        #expect(CacheRequest(shared, policy)?.credentials == nil)
        var trusting = exchange([])
        trusting.url = "https://a.org/x"
        trusting.network.tls = TLSDecisions(isAsked: true)
        #expect(CacheRequest(trusting, policy)?.credentials == nil)
        trusting.network.tls?.places = [TLSDecisions.Place(origin: "https://b.org:443", key: "k")]
        #expect(CacheRequest(trusting, policy)?.credentials == nil)
        trusting.network.tls?.places.append(TLSDecisions.Place(origin: "https://a.org:443", key: "k"))
        #expect(CacheRequest(trusting, policy)?.credentials != nil)
    }

    /// The cache stores decoded bodies for requests that leave the codings to the daemon, and coded bodies for requests
    /// that name codings.
    @Test func codedAndDecodedAnswersAreTwo() throws {
        var decoding = exchange([("Accept-Encoding", "gzip")])
        decoding.decodesBody = true
        let policy = RequestCachePolicy.useProtocolCachePolicy
        let own = try request([("Accept-Encoding", "gzip")])
        let left = try #require(CacheRequest(decoding, policy))
        let head = ResponseHead(url: "http://a.org/x", status: 200)
        #expect(CacheSelection(head, left.fields)?.matches(own.fields) == false)
        #expect(CacheSelection(head, own.fields)?.matches(left.fields) == false)
        #expect(CacheSelection(head, left.fields)?.matches(left.fields) == true)
    }

    // MARK: The protocol's policy

    /// Each row: the client's field, the server's field, and what happens 100 seconds later.
    @Test(
        arguments: [
            ("", "max-age=101", "serve"), ("", "max-age=100", "validate"), ("", "no-cache, max-age=900", "validate"),
            ("no-cache", "max-age=900", "validate"), ("max-age=99", "max-age=900", "validate"),
            ("max-age=100", "max-age=900", "serve"), ("min-fresh=50", "max-age=150", "serve"),
            ("min-fresh=51", "max-age=150", "validate"), ("max-stale", "max-age=1", "serve"),
            ("max-stale=40", "max-age=60", "serve"), ("max-stale=39", "max-age=60", "validate"),
            ("max-stale", "max-age=1, must-revalidate", "validate"), ("max-stale", "max-age=1, no-cache", "validate"),
            ("max-stale, min-fresh=0", "max-age=1", "validate"), ("max-stale, max-age=99", "max-age=1", "validate"),
            ("", "max-age=900, must-revalidate", "serve"),
            ("only-if-cached", "max-age=900", "serve"), ("only-if-cached", "max-age=1", "miss"),
        ])
    func freshAnswersAreUsed(_ client: String, _ server: String, _ expected: String) throws {
        let request = try request(client.isEmpty ? [] : [("Cache-Control", client)])
        #expect("\(use(request, stored([("Cache-Control", server), ("ETag", "\"a\"")])))" == expected)
    }

    /// Ages are in whole seconds, so an answer of this second has the age 0.
    @Test func maxAgeZeroAsksForValidationAtOnce() throws {
        let request = try request([("Cache-Control", "max-age=0")])
        var fresh = stored([("Cache-Control", "max-age=900"), ("ETag", "\"a\"")])
        (fresh.requestTime, fresh.responseTime) = (Self.now, Self.now)
        #expect(fresh.age(at: Self.now) == 0 && use(request, fresh) == .validate)
    }

    @Test func withoutValidatorItIsLoaded() throws {
        #expect(try use(request(), stored([("Cache-Control", "max-age=1")])) == .load)
        #expect(try use(request(), nil) == .load)
        #expect(try use(request([("Cache-Control", "only-if-cached")]), nil) == .miss)
    }

    /// Section 5.4.
    @Test func pragmaCountsWithoutCacheControl() throws {
        let fresh = stored([("Cache-Control", "max-age=900"), ("ETag", "\"a\"")])
        #expect(try use(request([("Pragma", "no-cache")]), fresh) == .validate)
        #expect(try use(request([("Pragma", "no-cache"), ("Cache-Control", "max-age=900")]), fresh) == .serve)
    }

    // MARK: The other policies

    /// Each row: the policy, what happens without a stored answer, with a fresh one and with a stale one, and the
    /// fields that are added.
    @Test(
        arguments: [
            (.reloadIgnoringLocalCacheData, "load", "load", "load", ["Cache-Control: no-cache", "Pragma: no-cache"]),
            (
                .reloadIgnoringLocalAndRemoteCacheData, "load", "load", "load",
                ["Cache-Control: no-cache", "Pragma: no-cache"]
            ),
            (.returnCacheDataElseLoad, "load", "serve", "serve", []),
            (.returnCacheDataDontLoad, "miss", "serve", "serve", []),
            (.reloadRevalidatingCacheData, "load", "validate", "validate", ["Cache-Control: max-age=0"]),
            (.useProtocolCachePolicy, "load", "serve", "validate", []),
        ] as [(RequestCachePolicy, String, String, String, [String])])
    func policies(_ policy: RequestCachePolicy, _ none: String, _ fresh: String, _ stale: String, _ fields: [String])
        throws
    {
        let request = try request([], policy)
        #expect("\(use(request, nil))" == none)
        #expect("\(use(request, stored([("Cache-Control", "max-age=900"), ("ETag", "\"a\"")])))" == fresh)
        #expect("\(use(request, stored([("Cache-Control", "max-age=1"), ("ETag", "\"a\"")])))" == stale)
        if case .load(let sent) = request.use(of: nil, at: Self.now) {
            #expect(sent.map { "\($0.name): \($0.value)" } == fields)
        }
        if case .validate(_, let sent) = request.use(of: stored([("ETag", "\"a\"")]), at: Self.now) {
            #expect(sent.map { "\($0.name): \($0.value)" } == fields + ["If-None-Match: \"a\""])
        }
    }

    // MARK: What comes back

    @Test func theNewestOfThoseThatMatchIsTaken() throws {
        let request = try request([("X", "1")])
        var (old, new, other) = (stored([]), stored([]), stored([]))
        old.responseTime -= 5
        other.responseTime += 5
        other.selection = CacheSelection(text: "accept-encoding\nx: 2")
        new.selection = CacheSelection(text: "accept-encoding\nx: 1")
        #expect(request.selected(of: [old, new, other]) == new)
        #expect(request.selected(of: [other]) == nil)
    }

    @Test func redirectedAnswersAreOfOtherRequests() throws {
        var head = ResponseHead(url: "http://a.org/y", status: 200, headers: [])
        #expect(try request().stored(head, requestTime: 0, responseTime: 0) != nil)
        head.redirects = 1
        #expect(try request().stored(head, requestTime: 0, responseTime: 0) == nil)
    }

    @Test(
        arguments: [
            (200, "max-age=9", true), (304, "", true), (200, "max-age=0", false), (200, "max-age=9, no-store", false),
            (200, "max-age=9, no-cache", false), (206, "max-age=9", false),
        ])
    func whatOthersWaitFor(_ status: Int, _ server: String, _ isShared: Bool) throws {
        let head = ResponseHead(url: "", status: status, headers: [HeaderField("Cache-Control", server)])
        #expect(try request().isShared(head, requestTime: Self.now, responseTime: Self.now) == isShared)
    }

    /// RFC 5861 section 4. Each row: the server's field, the client's field, the failing status (0 means no answer),
    /// and whether the stored answer is used.
    @Test(
        arguments: [
            ("max-age=60, stale-if-error=40", "", 0, true), ("max-age=60, stale-if-error=39", "", 0, false),
            ("max-age=60", "", 0, false), ("max-age=60", "stale-if-error=40", 503, true),
            ("max-age=60, stale-if-error=40", "", 500, true), ("max-age=60, stale-if-error=40", "", 404, false),
            ("max-age=60, stale-if-error=40, must-revalidate", "", 500, false),
            ("no-cache, stale-if-error=400", "", 500, false), ("max-age=60, stale-if-error=40", "no-cache", 500, false),
        ])
    func staleAnswersInPlaceOfFailures(_ server: String, _ client: String, _ status: Int, _ isUsed: Bool) throws {
        let request = try request(client.isEmpty ? [] : [("Cache-Control", client)])
        let stored = stored([("Cache-Control", server)])
        let head = status == 0 ? nil : ResponseHead(url: "", status: status, headers: [])
        let outcome = ExchangeOutcome(end: status == 0 ? .stalled : .finished, head: head)
        #expect(request.mayServe(stored, inPlaceOf: outcome, at: Self.now) == isUsed)
        #expect(!request.mayServe(stored, inPlaceOf: ExchangeOutcome(end: .aborted, head: head), at: Self.now))
    }
}
