import DaemonKit
import TransferCore
import TransferModel
import TransferRPC

/// A sequence of calls from a client, and the state that they change: credentials, cookies, stored answers, decisions
/// and credit. Input: each line has a method's name, a space, and its parameters.
struct CallSequenceProbe: Probe {
    /// Applies a call of `credentials.set`.
    var keep: @Sendable (inout CredentialList, StoredCredential, _ isDefault: Bool?) -> Void

    static let target = FuzzTarget(
        "call-sequence",
        words: [
            "task.credit {\"id\":1000000000000000,\"bytes\":", "9223372036854775807}", "10}", "\n",
            "cookies.set {\"cookies\":[{\"name\":\"a\",\"value\":\"b\",\"domain\":\"a.org\",\"path\":\"/\"}]}",
            "cookies.remove {\"domain\":\"a.org\"}", "cookies.remove {}",
            "credentials.remove {\"protectionSpace\":{\"host\":\"a.org\"}}", "\"realm\":\"r\"", "\"isDefault\":true",
            "\"username\":\"u\"", "\"password\":\"p\"", "\"httpOnly\":true", "\"hostOnly\":true", "\"expires\":",
            "decision.answer {\"id\":1,\"action\":\"useCredential\"}", "\"rejectProtectionSpace\"", "\"doNotStore\"",
            "cache.remove {\"url\":\"http://a.org/1\"}", "cache.remove {}", "\"since\":\"1970-01-01T00:00:05Z\"",
        ],
        CallSequenceProbe { $0.keep($1, isDefault: $2) },
        // A second default is stored next to the first.
        planted: CallSequenceProbe { list, credential, isDefault in
            var all = list.all
            list.keep(credential, isDefault: isDefault)
            guard let last = list.all.last, last.isDefault else { return }
            all.removeAll { $0.space == last.space && $0.username == last.username }
            list = CredentialList(all + [last])
        })

    private static let now = Timestamp(milliseconds: 1_767_225_600_000)
    private static let capacity = 6000

    /// The state that the calls change.
    private struct State {
        var credentials = CredentialList()
        var cookies = CookieJar()
        var answers = CacheMemory()
        var settled = SettledDecisions()
        var credit: Int64 = 0
        let sink = CountingSink()
        let stream: BodyStream
        var step = 0

        init() {
            stream = BodyStream(
                task: .firstVolatile, session: SessionKey(owner: UserID(1000), identifier: "s"), to: sink)
            stream.prepare(decodes: false)
            stream.open()
        }
    }

    func check(_ input: [UInt8]) throws {
        var state = State()
        for line in input.split(separator: 10).prefix(200) {
            guard let space = line.firstIndex(of: 32) else { continue }
            let text = Array(line[(space + 1)...])
            state.step += 1
            switch String(decoding: line[..<space], as: UTF8.self) {
            case Methods.giveCredit.name: try give(text, &state)
            case Methods.setCredential.name: try set(text, &state)
            case Methods.removeCredentials.name:
                guard let call = try? JSONCoding.decode(RemoveCredentials.self, from: text),
                    let space = try? call.protectionSpace.normalized("protectionSpace")
                else { continue }
                _ = state.credentials.remove(at: space, username: call.username)
                let left = state.credentials.all.contains {
                    $0.space == space && (call.username == nil || $0.username == call.username)
                }
                try hold(!left, "a credential that was removed is there")
            case Methods.setCookies.name: try setCookies(text, &state)
            case Methods.removeCookies.name:
                guard let call = try? JSONCoding.decode(RemoveCookies.self, from: text) else { continue }
                _ = state.cookies.remove { call.name == nil || call.name == $0.name }
                try hold(!state.cookies.all.contains { call.name == nil || call.name == $0.name }, "a cookie is left")
            case Methods.answerDecision.name: try answer(text, &state)
            case Methods.removeCached.name: try removeStored(text, &state)
            default: continue
            }
        }
    }

    /// No byte is sent without credit, and none twice.
    private func give(_ text: [UInt8], _ state: inout State) throws {
        guard let call = try? JSONCoding.decode(GiveCredit.self, from: text), call.bytes > 0 else { return }
        let left = state.stream.give(ByteCount(call.bytes)).rawValue
        let (sum, overflows) = state.credit.addingReportingOverflow(call.bytes)
        state.credit = overflows ? .max : sum
        try hold(left == state.credit, "\(left) is left of \(state.credit)")
        let before = state.stream.offset.rawValue
        let bytes = [UInt8](repeating: 7, count: 1 + state.step * 997 % 5000)
        _ = bytes.withUnsafeBytes { state.stream.take($0) }
        let taken = state.stream.offset.rawValue - before
        try hold(taken == min(Int64(bytes.count), state.credit), "\(taken) bytes went out for \(state.credit)")
        state.credit -= taken
        try hold(state.sink.lines > 0, "nothing was sent")
    }

    /// A protection space has one default, and a refused credential answers no challenge.
    private func set(_ text: [UInt8], _ state: inout State) throws {
        guard let call = try? JSONCoding.decode(SetCredential.self, from: text),
            let space = try? call.protectionSpace.normalized("protectionSpace"),
            let username = call.credential.username, let password = call.credential.password
        else { return }
        let credential = StoredCredential(
            space: space, username: username, password: password, persistence: .permanent)
        keep(&state.credentials, credential, call.isDefault)
        let all = state.credentials.all
        for one in all {
            try hold(
                all.count { $0.space == one.space && $0.username == one.username } == 1, "one user name is there twice")
            try hold(all.count { $0.space == one.space && $0.isDefault } <= 1, "a space has two defaults")
        }
        let demand = ProtectionSpace(
            host: space.host, port: space.port, protocol: space.protocol, realm: space.realm,
            method: space.method ?? .httpBasic, isProxy: space.isProxy)
        if let choice = state.credentials.choice(for: demand) {
            try hold(choice.space.covers(demand), "a credential of another space is sent")
            guard state.step.isMultiple(of: 3) else { return }
            _ = state.credentials.refuse(choice.username, choice.password, by: demand)
            let next = state.credentials.choice(for: demand)
            try hold(
                next.map { ($0.username, $0.password) != (choice.username, choice.password) } ?? true,
                "a refused credential is sent again")
        }
    }

    private func setCookies(_ text: [UInt8], _ state: inout State) throws {
        guard let call = try? JSONCoding.decode(SetCookies.self, from: text), call.cookies.count < 300,
            (try? SpecRules(path: "").check(call.cookies)) != nil
        else { return }
        for cookie in call.cookies { _ = state.cookies.put(cookie, at: Self.now) }
        let all = state.cookies.all
        try hold(all.count == state.cookies.count && all.count <= Bounds.cookies, "\(all.count) cookies")
        try hold(
            Set(all.map { [$0.name, $0.domain, $0.path, "\($0.hostOnly)"] }).count == all.count,
            "one cookie is there twice")
        for (_, count) in Dictionary(grouping: all, by: \.domain).mapValues(\.count) {
            try hold(count <= Bounds.cookiesOfDomain, "a domain has \(count)")
        }
        try hold(!all.contains { $0.expires.map { $0 <= Self.now } ?? false }, "an expired cookie is kept")
    }

    /// Whatever the answers are, nothing is sent after a refusal of the protection space, and no task asks for ever.
    private func answer(_ text: [UInt8], _ state: inout State) throws {
        guard let call = try? JSONCoding.decode(AnswerDecision.self, from: text) else { return }
        let space = ProtectionSpace(
            host: "a.org", port: 443, protocol: "https", realm: "r", method: .httpBasic, isProxy: false)
        let head = ResponseHead(url: "https://a.org/\(state.step % 3)", status: 200)
        let info = ResponseInfo(url: head.url)
        let question: Question? =
            switch state.step % 3 {
            case 0: state.settled.challenged(space, ownUser: nil, response: nil)
            case 1: state.settled.responded(with: head, response: info)
            default: state.settled.stores(head, response: info, proposing: .store)
            }
        try hold(state.settled.asked <= Bounds.decisions, "\(state.settled.asked) questions")
        guard let question, question.actions.contains(call.action) else { return }
        var given = DecisionAnswer(call.action, credential: call.credential)
        if call.action != .useCredential { given.credential = nil }
        state.settled.answered(question, with: given)
        if question.kind == .challenge, call.action != .useCredential {
            try hold(state.settled.credential(for: space) == nil, "credentials are there that nobody gave")
        }
        if question.kind == .cache {
            try hold(state.settled.decided(about: head) == call.action, "another decision about what is stored")
        }
    }

    /// A removed answer is not found, and the stored bytes are within the capacity.
    private func removeStored(_ text: [UInt8], _ state: inout State) throws {
        guard let call = try? JSONCoding.decode(RemoveCached.self, from: text) else { return }
        for number in 0..<4 {
            let (url, request) = try Self.request(number)
            let head = ResponseHead(
                url: url, status: 200, headers: [HeaderField("Cache-Control", "max-age=600")])
            guard let response = request.stored(head, requestTime: 5, responseTime: Int64(state.step)) else {
                throw Violation(description: "what is fresh is not stored")
            }
            let body = [UInt8](repeating: 1, count: state.step * 311 % 1500)
            state.answers.put(CachedAnswer(response: response, body: body), url, capacity: Self.capacity)
            try hold(state.answers.bytes <= Self.capacity, "\(state.answers.bytes) bytes")
        }
        let wanted = try? call.url.map { try URLRules.parse($0).requestURL }
        let since = call.since.map { $0.rawValue / 1000 } ?? .min
        if let wanted {
            state.answers.remove(wanted) { $0.response.responseTime >= since }
        } else if call.url == nil {
            _ = state.answers.remove(since: since)
        }
        for number in 0..<4 where Int64(state.step) >= since && (wanted == nil) == (call.url == nil) {
            let (url, request) = try Self.request(number)
            guard wanted == nil || wanted == url else { continue }
            try hold(state.answers.find(request) == nil, "\(url) was removed and is there")
        }
        try hold(state.answers.count > 0 || state.answers.bytes == 0, "bytes without answers")
    }

    private static func request(_ number: Int) throws -> (String, CacheRequest) {
        let url = "http://a.org/\(number)"
        var exchange = Exchange(url: url, judge: CaptureJudge())
        exchange.kind = .request
        guard let request = CacheRequest(exchange, .useProtocolCachePolicy) else {
            throw Violation(description: "a plain GET has no cache")
        }
        return (url, request)
    }
}

/// A client that reads everything at once.
private final class CountingSink: EventSink, @unchecked Sendable {
    let id = 1
    let isClosed = false
    let queuedBytes = 0
    let isCrowded = false
    private(set) var lines = 0

    func send(_ pieces: [UInt8]...) { lines += 1 }
    func waitForRoom() async -> Bool { true }
    func close() {}
}
