import FoundationEssentials
import JSONRPC
import Logging
import Metalink
import NIOConcurrencyHelpers
import NIOHTTP1
import TransferClient
import TransferModel
import TransferRPC

/// The routes: what each needs, and what it answers.
final class Site: Sendable {
    /// What a route needs beside the gate.
    private struct Route {
        var methods: [HTTPMethod]
        var needsCookie = false
        var needsToken = false
        var needsJSON = false
        var bodyLimit = 4 << 10
    }

    private static let routes: [String: Route] = [
        "/login": Route(methods: [.GET, .HEAD]),
        "/session": Route(methods: [.GET], needsCookie: true),
        "/rpc": Route(
            methods: [.POST], needsCookie: true, needsToken: true, needsJSON: true, bodyLimit: HTTPLimits.body),
        "/metalink": Route(methods: [.POST], needsCookie: true, needsToken: true, bodyLimit: HTTPLimits.body),
        "/events": Route(methods: [.GET], needsCookie: true),
        "/rates": Route(methods: [.GET], needsCookie: true),
        "/logout": Route(methods: [.POST], needsCookie: true, needsToken: true),
        "/metrics": Route(methods: [.GET]),
        "/healthz": Route(methods: [.GET]),
    ]

    let hub: EventHub
    private let link: DaemonLink
    private let signIn: SignIn
    private let assets: Assets
    private let metrics: WebMetrics
    private let ruleBox: NIOLockedValueBox<Gate.Rules>
    private let aria2Port: Int?
    private let logger: Logger

    init(
        hub: EventHub, link: DaemonLink, signIn: SignIn, rules: Gate.Rules, aria2Port: Int?, logger: Logger
    ) {
        self.hub = hub
        self.link = link
        self.signIn = signIn
        self.aria2Port = aria2Port
        self.logger = logger
        assets = Assets()
        metrics = WebMetrics()
        ruleBox = NIOLockedValueBox(rules)
    }

    /// Changed by a reload.
    var rules: Gate.Rules {
        get { ruleBox.withLockedValue { $0 } }
        set { ruleBox.withLockedValue { $0 = newValue } }
    }

    func counted(_ path: String, _ status: HTTPResponseStatus) {
        let isKnown = path == "/" || Self.routes[path] != nil
        metrics.count(isKnown ? path : assets.has(path) ? "/" : "other", status)
    }

    private var cookieName: String { "dld-web-\(rules.port)" }

    // MARK: Before the body

    /// - Throws: why a request that has passed the gate gets no further.
    func admit(
        _ head: HTTPRequestHead, path: String, query: [String: String], _ forwarded: WebRequest.Forwarded
    ) throws(WebRefusal) -> WebRequest {
        let known = Self.routes[path] ?? (assets.has(path) ? Route(methods: [.GET, .HEAD]) : nil)
        guard let route = known else { throw .notFound }
        var request = WebRequest(
            method: head.method, path: path, query: query, headers: head.headers, forwarded: forwarded,
            bodyLimit: route.bodyLimit)
        guard route.methods.contains(head.method) else { throw .wrongMethod(route.methods) }
        guard route.needsCookie else { return request }
        guard let (session, cookie) = session(head.headers) else { throw .signedOut }
        (request.session, request.cookie) = (session.id, cookie)
        if route.needsToken {
            let given = head.headers["X-Dld-Token"]
            guard given.count == 1, Secret.equal(given[0], signIn.token(of: session)) else { throw .wrongToken }
        }
        if route.needsJSON {
            let type = head.headers.first(name: "Content-Type")?.split(separator: ";").first?.lowercased()
            guard type?.trimming(" ") == "application/json" else { throw .notJSON }
        }
        return request
    }

    private func session(_ headers: HTTPHeaders) -> (SignIn.Session, cookie: String)? {
        for pair in headers["Cookie"].flatMap({ $0.split(separator: ";") }) {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].trimming(" ") == cookieName else { continue }
            let cookie = parts[1].trimming(" ")
            if let session = signIn.session(of: cookie, time: Self.now) { return (session, cookie) }
        }
        return nil
    }

    private static var now: Double { Double(Timestamp.now().rawValue) / 1000 }

    // MARK: Answers

    func answer(_ request: WebRequest) async -> WebAnswer {
        // The session may have ended while the body came.
        if let session = request.session, !isSignedIn(session) { return .refused(.signedOut) }
        return await routed(request)
    }

    func isSignedIn(_ session: String) -> Bool { signIn.sessions.contains { $0.id == session } }

    private func routed(_ request: WebRequest) async -> WebAnswer {
        switch request.path {
        case "/login": login(request)
        case "/session": await sessionAnswer(request)
        case "/rpc": await rpc(request)
        case "/metalink": metalink(request)
        case "/events": events(request)
        case "/rates": Gzip.compressed(.json(hub.rates.json), for: request)
        case "/logout": logout(request)
        case "/metrics": await metricsAnswer()
        case "/healthz": link.isUp ? .empty : .json([:] as JSONValue, .serviceUnavailable)
        default: assets.answer(request)
        }
    }

    private func login(_ request: WebRequest) -> WebAnswer {
        // A link checker's HEAD does not use the key up.
        let key = request.query["key"] ?? ""
        guard request.method == .GET, let cookie = signIn.open(key, time: Self.now) else {
            let body = Self.usedUp
            return .text(request.method == .HEAD ? "" : body, type: "text/html", .forbidden)
        }
        logger.info("a browser has signed in")
        return WebAnswer(
            status: .seeOther, headers: [("Location", "./"), ("Set-Cookie", cookieText(cookie, request.forwarded))])
    }

    private static let usedUp = """
        <!DOCTYPE html>
        <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
        <title>Not signed in – dld</title>
        <h1>This link is used up. Run dlctl web</h1>
        <p>A link works once, and for one minute. <code>dlctl web</code> prints another one.</p>
        </html>

        """

    private func cookieText(_ value: String, _ forwarded: WebRequest.Forwarded) -> String {
        "\(cookieName)=\(value); HttpOnly; SameSite=Strict; Path=\(forwarded.prefix)/; Max-Age=\(Int(SignIn.sessionLifetime))"
            + (forwarded.isSecure ? "; Secure" : "")
    }

    private func sessionAnswer(_ request: WebRequest) async -> WebAnswer {
        guard let session = signIn.sessions.first(where: { $0.id == request.session }) else {
            return .refused(.signedOut)
        }
        let info = try? await link.call(Methods.daemonInfo, Nothing())
        var daemon: [String: JSONValue] = ["state": info == nil ? "away" : "up"]
        if let info {
            daemon["version"] = .string(info.version)
            daemon["mode"] = .string(info.mode.rawValue)
            daemon["administrator"] = .bool(info.administrator ?? (info.mode == .user))
        }
        var answer = WebAnswer.json([
            "token": .string(signIn.token(of: session)), "version": .string(Product.version), "daemon": .object(daemon),
            "head": hub.head.map { .integer($0) } ?? .null, "user": .string(UserNames.name(of: rules.own)),
            "aria2": aria2Port.map { .integer(Int64($0)) } ?? .null,
        ])
        // The cookie lives on with its use.
        if let cookie = request.cookie { answer.headers.append(("Set-Cookie", cookieText(cookie, request.forwarded))) }
        return answer
    }

    private func logout(_ request: WebRequest) -> WebAnswer {
        guard let session = request.session, signIn.revoke(session) != nil else { return .refused(.notStored) }
        return .empty
    }

    private func events(_ request: WebRequest) -> WebAnswer {
        let given = request.headers.first(name: "Last-Event-ID") ?? request.query["after"]
        let after = given.flatMap { Int64($0) }
        guard given == nil || (after ?? -1) >= 0, let session = request.session else {
            return .refused(.malformed("after and Last-Event-ID are the number of an event."))
        }
        return WebAnswer(
            status: .ok, headers: [("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no")],
            body: .events(after: after, session: session))
    }

    private func metalink(_ request: WebRequest) -> WebAnswer {
        do {
            let tasks = try Metalink(request.body).files.map { file in
                var spec = TaskSpec()
                file.fill(&spec)
                // The page says the folder.
                spec.destination = Destination(filename: file.name.split(separator: "/").last.map(String.init))
                return JSONCoding.encode(spec)
            }
            let text = Array("{\"tasks\":[".utf8) + tasks.joined(separator: [UInt8(ascii: ",")]) + Array("]}".utf8)
            return Gzip.compressed(.json(text), for: request)
        } catch {
            return .refused(
                WebRefusal(
                    status: .unprocessableEntity, code: "request.bad_field",
                    message: "Not a Metalink document: \(error)."))
        }
    }

    private func metricsAnswer() async -> WebAnswer {
        let text = await metrics.text(link, streams: hub.streamCount, sessions: signIn.sessions.count)
        return WebAnswer(
            status: .ok, headers: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
            body: .bytes(Array(text.utf8)))
    }

    // MARK: Calls

    private func rpc(_ request: WebRequest) async -> WebAnswer {
        let line: RPCLine
        do throws(RPCError) {
            line = try RPCLine(request.body, batchLimit: 100)
        } catch {
            return .json(RPCText.answer(id: nil, error: error))
        }
        var answers: [[UInt8]] = []
        var isAway = false
        // In order, so that a batch may build on what it did before.
        for entry in line.entries {
            switch entry {
            case .invalid(let id, let error): answers.append(RPCText.answer(id: id, error: error))
            case .request(let call):
                if let error = CallRules.refusal(of: call) {
                    answers.append(RPCText.answer(id: call.id, error: error))
                    continue
                }
                do throws(DaemonLink.Failure) {
                    let result = try await link.call(call.method, call.parameters ?? Array("{}".utf8))
                    answers.append(RPCText.answer(id: call.id, result: result))
                } catch {
                    switch error {
                    case .refused(let text): answers.append(RPCText.answer(id: call.id, errorText: text))
                    case .away:
                        isAway = true
                        answers.append(RPCText.answer(id: call.id, error: CallRules.away))
                    }
                }
            }
        }
        var text = Array(answers.joined(separator: [UInt8(ascii: ",")]))
        if line.isBatch { text = [UInt8(ascii: "[")] + text + [UInt8(ascii: "]")] }
        return Gzip.compressed(.json(text, isAway ? .serviceUnavailable : .ok), for: request)
    }
}

/// What a page may ask of the daemon.
enum CallRules {
    private static let namespaces = ["task.", "session.", "decision.", "trust.", "hsts.", "cache."]
    private static let others: Set<String> = [
        Methods.getSettings.name, Methods.setSettings.name, Methods.listSettings.name, Methods.listEvents.name,
        Methods.daemonInfo.name, Methods.daemonStats.name,
    ]
    /// A stream's bytes come to the connection that gives the credit, and pages share connections.
    private static let withheld: Set<String> = [Methods.giveCredit.name]

    static let away = RPCError(
        code: -32000, message: "dld does not answer; try again.", cause: "daemon.away", retryable: true)

    static func refusal(of request: RPCRequest) -> RPCError? {
        let isAllowed =
            others.contains(request.method) || namespaces.contains { request.method.hasPrefix($0) }
        guard isAllowed, !withheld.contains(request.method) else {
            return RPCError(
                code: ErrorCode.rpcUnknownMethod.rpcCode,
                message: "The page has no method \(request.method.prefix(40)).",
                cause: ErrorCode.rpcUnknownMethod.rawValue)
        }
        let parameters = try? JSONTape(request.parameters ?? Array("{}".utf8)).root
        if request.method != Methods.removeTrust.name, parameters?.find("secrets") != nil {
            return RPCError(
                code: ErrorCode.permissionDenied.rpcCode, message: "secrets: a page does not get secrets; remove it.",
                cause: ErrorCode.permissionDenied.rawValue, details: Array("{\"field\":\"secrets\"}".utf8))
        }
        return nil
    }
}

extension StringProtocol {
    /// Without these characters at both ends.
    func trimming(_ characters: String) -> String {
        var rest = self[...]
        while let first = rest.first, characters.contains(first) { rest.removeFirst() }
        while let last = rest.last, characters.contains(last) { rest.removeLast() }
        return String(rest)
    }
}
