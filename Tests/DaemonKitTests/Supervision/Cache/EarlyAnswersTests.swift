import DaemonSetup
import Logging
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

struct EarlyAnswersTests {
    /// What is requested, and in which session.
    struct Question: Sendable {
        var spec = TaskSpec()
        var session: SessionRecord
    }

    /// One change that makes a task or its session different.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let apply: @Sendable (inout Question) -> Void

        init(_ name: String, _ apply: @escaping @Sendable (inout Question) -> Void) {
            testDescription = name
            self.apply = apply
        }
    }

    private static let url = "http://a.org/file"
    private static let owner = UserID(1000)
    private static let body = Array("one".utf8)

    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture
    private let cache = CacheKeeper(disk: nil, userAgent: "dld")
    private let answers: EarlyAnswers

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
        let configuration = try home.loader.load()
        answers = EarlyAnswers(
            cache: cache, policies: TaskPolicies { configuration },
            cookies: CookieKeeper(store: fixture.store, time: fixture.time),
            credentials: CredentialKeeper(store: fixture.store, logger: Logger(label: "test")),
            hsts: HSTSKeeper(store: fixture.store),
            files: TransferFiles(
                access: FileAccess(mode: .user), storeID: "store", stateFolder: nil, pool: BlockingPool()),
            closedUntil: { session, now in session.configuration.schedule == nil ? nil : now.advanced(by: 60) },
            time: fixture.time)
        store("max-age=600")
    }

    private var now: Int64 { fixture.time.reading().wall.rawValue / 1000 }

    private func store(
        _ control: String, _ url: String = url, status: Int = 200, _ more: [(String, String)] = [],
        asked headers: [(String, String)] = [], kind: SessionKind = .default
    ) {
        var exchange = Exchange(url: url, judge: CaptureJudge())
        exchange.kind = .request
        exchange.decodesBody = true
        exchange.headers = headers.map { HeaderField($0.0, $0.1) }
        let head = ResponseHead(
            url: url, status: status,
            headers: [HeaderField("Cache-Control", control)] + more.map { HeaderField($0.0, $0.1) })
        guard let request = CacheRequest(exchange, .useProtocolCachePolicy, defaults: cache.defaults),
            let response = request.stored(head, requestTime: now, responseTime: now),
            let policy = CachePolicy(SessionConfiguration(), kind)
        else { preconditionFailure("The answer cannot be stored.") }
        let shelf = CacheKeeper.Shelf(
            place: CachePlace(SessionKey(owner: Self.owner, identifier: "v"), policy), policy: policy)
        cache.put(
            CachedAnswer(response: response, body: Self.body, credentials: request.credentials), url, on: shelf,
            since: cache.reading(), replaces: false)
    }

    private func end(_ change: (inout Question) -> Void = { _ in }) throws -> NewTask.End? {
        var question = Question(
            session: SessionRecord(
                key: SessionKey(owner: Self.owner, identifier: "v"), kind: .default,
                createdAt: fixture.time.reading().wall))
        question.spec.kind = .data
        question.spec.url = Self.url
        change(&question)
        let url = try URLRules.parse(question.spec.url ?? "")
        return answers.answers(in: question.session)?(AdmittedTask(spec: question.spec, host: url.hostKey), url)
    }

    @Test func whatMemoryHasIsTheAnswer() throws {
        fixture.time.advance(7)
        let end = try #require(try end())
        #expect(end.body == Self.body && end.result == TaskResult(bytes: 3, verified: false))
        let entries = end.metrics?.metrics?.entries
        #expect(entries?.count == 1 && entries?.first?.isFromCache == true)
        #expect(entries?.first?.fetchStart == fixture.time.reading().wall.rawValue * 1000)
        let response = end.response.told["response"]
        #expect(response?["fromCache"] == true && response?["age"] == 7 && response?["status"] == 200)
        #expect(response?["url"]?.stringValue == Self.url && response?["body"] == nil)
    }

    @Test(arguments: [
        Change("a fragment") { $0.spec.url = url + "#part" },
        Change("a policy that uses what is stored") { $0.spec.requestCachePolicy = .returnCacheDataElseLoad },
        Change("a policy that asks nobody") { $0.session.configuration.requestCachePolicy = .returnCacheDataDontLoad },
        Change("another session of the owner") { $0.session.key.identifier = "w" },
        Change("a deadline to come") { $0.spec.deadlineAt = Timestamp(milliseconds: 1_700_000_001_000) },
        Change("questions about other things") { $0.session.configuration.asks = [.redirect, .begin] },
        Change("every status") { $0.spec.acceptsAnyStatus = true },
        Change("a rate limit") { $0.spec.rateLimit = 1 },
        Change("its own cookies, of another host") {
            $0.spec.cookies = [Cookie(name: "a", value: "b", domain: "b.org")]
        },
    ])
    func whoNeedsNothingElseIsAnswered(_ change: Change) throws {
        #expect(try end(change.apply) != nil)
    }

    @Test(arguments: [
        Change("another URL") { $0.spec.url = url + "?2" },
        Change("an upload") { $0.spec.kind = .upload },
        Change("a download") { $0.spec.kind = .download },
        Change("a stream") { $0.spec.stream = true },
        Change("a task that is added paused") { $0.spec.startPaused = true },
        Change("a task that begins later") { $0.spec.earliestBeginAt = Timestamp(milliseconds: 1_700_000_001_000) },
        Change("a deadline that has passed") { $0.spec.deadlineAt = Timestamp(milliseconds: 1_699_999_999_000) },
        Change("another method") { $0.spec.method = "HEAD" },
        Change("a method that is not idempotent") { $0.spec.method = "POST" },
        Change("a range") { $0.spec.headers = [HeaderField("Range", "bytes=0-0")] },
        Change("a condition") { $0.spec.headers = [HeaderField("If-None-Match", "\"a\"")] },
        Change("a demand for news") { $0.spec.headers = [HeaderField("Cache-Control", "no-cache")] },
        Change("codings of its own") { $0.spec.headers = [HeaderField("Accept-Encoding", "gzip")] },
        Change("credentials") { $0.spec.bearer = "secret" },
        Change("a Cookie header") { $0.spec.headers = [HeaderField("Cookie", "a=b")] },
        Change("its own cookies") { $0.spec.cookies = [Cookie(name: "a", value: "b", domain: "a.org")] },
        Change("a policy that reloads") { $0.spec.requestCachePolicy = .reloadIgnoringLocalCacheData },
        Change("a policy that reloads everywhere") {
            $0.spec.requestCachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        },
        Change("a policy that validates") { $0.spec.requestCachePolicy = .reloadRevalidatingCacheData },
        Change("plain text that is refused") { $0.spec.allowsArbitraryLoads = false },
        Change("a file to read first") { $0.spec.netrc = "/etc/netrc" },
        Change("questions about answers") { $0.session.configuration.asks = [.response] },
        Change("questions about challenges") { $0.session.configuration.asks = [.challenge] },
        Change("a paused session") { $0.session.pause.since = 1 },
        Change("a session outside its windows") { $0.session.configuration.schedule = [] },
        Change("a durable session") { $0.session.kind = .background },
        Change("another owner") { $0.session.key.owner = UserID(1001) },
        Change("a session with a storage of its own") { $0.session.configuration.urlCache = CacheCapacities() },
        Change("an ephemeral session") { $0.session.kind = .ephemeral },
    ])
    func whoNeedsAnythingElseRuns(_ change: Change) throws {
        #expect(try end(change.apply) == nil)
    }

    @Test func aStaleAnswerIsUsedWherePolicyOrRequestSaySo() throws {
        fixture.time.advance(601)
        #expect(try end() == nil)
        #expect(try end { $0.spec.requestCachePolicy = .returnCacheDataElseLoad } != nil)
        #expect(try end { $0.spec.headers = [HeaderField("Cache-Control", "max-stale=5")] } != nil)
        #expect(try end { $0.spec.headers = [HeaderField("Cache-Control", "max-stale=0")] } == nil)
    }

    /// A status that fails a task has the same effect as from the server, with its own events.
    @Test func onlyWhatCompletesATaskIsAnAnswer() throws {
        store("max-age=600", Self.url + "?gone", status: 404)
        #expect(try end { $0.spec.url = Self.url + "?gone" } == nil)
        let accepting = try end {
            $0.spec.url = Self.url + "?gone"
            $0.spec.acceptsAnyStatus = true
        }
        #expect(accepting?.response.told["response"]?["status"] == 404)
    }

    @Test func varyChooses() throws {
        let url = Self.url + "?vary"
        store("max-age=600", url, [("Vary", "Accept-Language")], asked: [("Accept-Language", "de")])
        func has(_ language: String) throws -> Bool {
            try end {
                $0.spec.url = url
                $0.spec.headers = [HeaderField("Accept-Language", language)]
            } != nil
        }
        #expect(try has("de") && !has("fr"))
    }

    @Test func anEphemeralSessionHasItsOwn() throws {
        store("max-age=600", Self.url + "?own", kind: .ephemeral)
        func has(_ identifier: String) throws -> Bool {
            try end {
                $0.spec.url = Self.url + "?own"
                $0.session.kind = .ephemeral
                $0.session.key.identifier = identifier
            } != nil
        }
        #expect(try has("v") && !has("w"))
        cache.forget(SessionKey(owner: Self.owner, identifier: "v"))
        #expect(try !has("v"))
    }
}
