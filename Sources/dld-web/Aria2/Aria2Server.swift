import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import TransferModel

/// The listener of the aria2 endpoint: requests over HTTP and WebSockets, and notifications to the latter.
final class Aria2Server: Sendable {
    private struct State {
        var listening: [any Channel] = []
        var connections: [ObjectIdentifier: any Channel] = [:]
        /// Those without a complete head yet, oldest first.
        var unfinished: [ObjectIdentifier] = []
        /// The sockets that hear notifications.
        var listeners: Set<ObjectIdentifier> = []
        var hasEnded = false
    }

    fileprivate static let path = "/jsonrpc"
    fileprivate static let largestMessage = 8 << 20
    fileprivate static let pingInterval = TimeAmount.seconds(30)
    private static let mostConnections = 64
    /// A listener for which more bytes wait does not read.
    private static let mostWaiting = 16 << 20

    fileprivate let endpoint: Aria2Endpoint
    private let gateRules: @Sendable () -> Gate.Rules
    private let state = NIOLockedValueBox(State())
    private let events: AsyncStream<JSONValue>.Continuation

    /// - Parameters:
    ///   - surroundings: `end` is called after the endpoint has closed all by itself.
    ///   - rules: with the port of this listener.
    init(_ surroundings: Aria2Endpoint.Surroundings, rules: @escaping @Sendable () -> Gate.Rules) {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        var inner = surroundings
        inner.end = { ask.yield() }
        endpoint = Aria2Endpoint(inner)
        gateRules = rules
        let (stream, events) = AsyncStream<JSONValue>.makeStream()
        self.events = events
        Task { [weak self] in
            for await event in stream { await self?.tell(event) }
        }
        Task { [weak self] in
            for await _ in asked {
                // The answer goes first.
                try? await Task.sleep(for: .milliseconds(500))
                self?.close()
                surroundings.end()
                return
            }
        }
    }

    /// Binds with `bind(host:port:)` or `withBoundSocket(_:)`; then `add` gets the channel.
    func bootstrap(on group: any EventLoopGroup) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: Self.mostWaiting / 2, high: Self.mostWaiting))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try Aria2Connection.begin(on: channel, self) }
            }
    }

    func add(_ channel: any Channel) { state.withLockedValue { $0.listening.append(channel) } }

    /// Ends the listener and every connection.
    func close() {
        events.finish()
        let channels = state.withLockedValue { state in
            state.hasEnded = true
            return state.listening + state.connections.values
        }
        for channel in channels { channel.close(promise: nil) }
    }

    // MARK: Connections

    /// A newcomer pushes out the oldest connection that has sent no complete head.
    /// - Returns: false if there is no room.
    fileprivate func came(_ channel: any Channel) -> Bool {
        let (isAdmitted, oldest) = state.withLockedValue { state -> (Bool, (any Channel)?) in
            guard !state.hasEnded else { return (false, nil) }
            var oldest: (any Channel)?
            if state.connections.count >= Self.mostConnections {
                guard !state.unfinished.isEmpty else { return (false, nil) }
                oldest = state.connections.removeValue(forKey: state.unfinished.removeFirst())
            }
            state.connections[ObjectIdentifier(channel)] = channel
            state.unfinished.append(ObjectIdentifier(channel))
            return (true, oldest)
        }
        oldest?.close(promise: nil)
        return isAdmitted
    }

    fileprivate func hasHead(_ channel: any Channel) {
        state.withLockedValue { $0.unfinished.removeAll { $0 == ObjectIdentifier(channel) } }
    }

    fileprivate func went(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        state.withLockedValue { state in
            state.connections[id] = nil
            state.listeners.remove(id)
            state.unfinished.removeAll { $0 == id }
        }
    }

    fileprivate func listens(_ channel: any Channel) {
        _ = state.withLockedValue { $0.listeners.insert(ObjectIdentifier(channel)) }
    }

    // MARK: Notifications

    /// Takes each event of the daemon once, in order.
    func received(_ event: JSONValue) {
        if event["type"]?.stringValue.flatMap(Aria2Notification.init(event:)) != nil { events.yield(event) }
    }

    private func tell(_ event: JSONValue) async {
        let isHeard = state.withLockedValue { !$0.listeners.isEmpty }
        guard let text = await endpoint.notification(for: event, isHeard: isHeard) else { return }
        let channels = state.withLockedValue { state in state.listeners.compactMap { state.connections[$0] } }
        for channel in channels {
            guard channel.isWritable else {
                channel.close(promise: nil)
                continue
            }
            channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: text)), promise: nil)
        }
    }

    // MARK: Admission

    /// What may come in, and how far it is trusted.
    struct Admission: Sendable {
        /// No secret is needed: the peer is this process's user, and neither a page nor a proxy.
        var isTrusted: Bool
        /// It may hear notifications without one. Libraries for WebSockets send the server's own origin, which is no page's,
        /// because there is none here.
        var mayListen: Bool
        /// The page's origin, which may read the answer.
        var origin: String?
        var query: [String: String]
    }

    /// Peer and Host are checked as for the page. Pages of every origin may come: they need the secret.
    func admit(_ head: HTTPRequestHead, _ peer: Gate.Peer) throws(WebRefusal) -> Admission {
        let target = try WebTarget(head.uri)
        let rules = gateRules()
        var checked = head
        // A browser sends the second also where it sends no origin, as for an image.
        let ofPages = ["Origin", "Sec-Fetch-Site"]
        for name in ofPages { checked.headers.remove(name: name) }
        let path = try Gate(rules: rules, peer: peer).pass(checked, target).path
        guard path == Self.path else { throw .notFound }
        let ofProxies = [
            "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix",
        ]
        let isOwn = peer == .user(rules.own) && !ofProxies.contains { head.headers.contains(name: $0) }
        let isPage = ofPages.contains { head.headers.contains(name: $0) }
        let isLibrary = head.headers["Origin"] == head.headers["Host"].map { "http://" + $0 }
        return Admission(
            isTrusted: isOwn && !isPage,
            mayListen: isOwn && (!isPage || isLibrary && !head.headers.contains(name: "Sec-Fetch-Site")),
            origin: head.headers.first(name: "Origin").flatMap { Self.isOrigin($0) ? $0 : nil }, query: target.query)
    }

    /// It becomes a header of the answer.
    private static func isOrigin(_ text: String) -> Bool {
        text.utf8.count < 256
            && text.utf8.allSatisfy { "-._~:/[]".utf8.contains($0) || Character(UnicodeScalar($0)).isASCIIWord }
    }
}

extension Character {
    fileprivate var isASCIIWord: Bool { isASCII && (isLetter || isNumber) }
}

/// One connection, until it becomes a WebSocket.
private final class Aria2Connection: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: Aria2Server
    private let channel: any Channel
    private let peer: Gate.Peer
    /// The request whose body comes; nil before a head, and while it is being answered.
    private var request: (head: HTTPRequestHead, admission: Aria2Server.Admission, body: [UInt8])?
    private var origin: String?
    private var keepsAlive = true
    private var isAnswering = false
    private var timer: Scheduled<Void>?

    static func begin(on channel: any Channel, _ server: Aria2Server) throws {
        let peer = Gate.Peer(of: channel)
        guard server.came(channel) else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in server.went(channel) }
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: Aria2Server.largestMessage, automaticErrorHandling: true,
            shouldUpgrade: { channel, head in
                let mayUpgrade = (try? server.admit(head, peer)) != nil
                return channel.eventLoop.makeSucceededFuture(mayUpgrade ? [:] : nil)
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    try Aria2Socket.begin(on: channel, server, try server.admit(head, peer))
                }
            })
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline(
            withServerUpgrade: (
                [upgrader],
                { context in
                    let pipeline = context.pipeline.syncOperations
                    guard let http = try? pipeline.handler(type: Aria2Connection.self) else { return }
                    http.timer?.cancel()
                    pipeline.removeHandler(http, promise: nil)
                }
            ), withErrorHandling: false, withEncoderConfiguration: .init(),
            withDecoderLimitConfiguration: HTTPLimits.parser)
        try pipeline.addHandler(Aria2Connection(server, channel, peer))
    }

    private init(_ server: Aria2Server, _ channel: any Channel, _ peer: Gate.Peer) {
        (self.server, self.channel, self.peer) = (server, channel, peer)
    }

    func handlerAdded(context: ChannelHandlerContext) { wait(HTTPLimits.patience) }

    func channelInactive(context: ChannelHandlerContext) { timer?.cancel() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The request that is no WebSocket's comes next, and is refused.
        if error is NIOWebSocketUpgradeError { return }
        guard let error = error as? HTTPParserError, !isAnswering else { return context.close(promise: nil) }
        refuse(error == .headerOverflow ? .headTooLarge : .malformed("This is not an HTTP/1.1 request."))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): began(head)
        case .body(let bytes):
            guard let count = request?.body.count else { return }
            guard count + bytes.readableBytes <= HTTPLimits.body else { return refuse(.bodyTooLarge) }
            request?.body.append(contentsOf: bytes.readableBytesView)
            wait(HTTPLimits.patience)
        case .end:
            guard let (head, admission, body) = request else { return }
            request = nil
            answer(head, admission, body)
        }
    }

    private func began(_ head: HTTPRequestHead) {
        server.hasHead(channel)
        (keepsAlive, origin) = (head.isKeepAlive && head.version == .http1_1, nil)
        do throws(WebRefusal) {
            let size = head.uri.utf8.count + head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
            guard size <= HTTPLimits.head else { throw .headTooLarge }
            let admission = try server.admit(head, peer)
            origin = admission.origin
            guard [.POST, .GET, .OPTIONS].contains(head.method) else { throw .wrongMethod([.POST, .GET, .OPTIONS]) }
            let length = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
            guard length <= HTTPLimits.body else { throw .bodyTooLarge }
            request = (head, admission, [])
            wait(HTTPLimits.patience)
        } catch {
            refuse(error)
        }
    }

    private func answer(_ head: HTTPRequestHead, _ admission: Aria2Server.Admission, _ body: [UInt8]) {
        timer?.cancel()
        isAnswering = true
        if head.method == .OPTIONS { return preflight(head) }
        let (endpoint, loop) = (server.endpoint, channel.eventLoop)
        let bound = NIOLoopBound(self, eventLoop: loop)
        Task {
            let answer =
                head.method == .GET
                ? await endpoint.answer(query: admission.query, isTrusted: admission.isTrusted)
                : await endpoint.answer(body, isTrusted: admission.isTrusted)
            loop.execute {
                bound.value.write(
                    HTTPResponseStatus(statusCode: answer.status), answer.body,
                    [("Content-Type", "application/json-rpc")])
            }
        }
    }

    /// Answers what a browser asks before a page's request (Fetch Standard; Private Network Access).
    private func preflight(_ head: HTTPRequestHead) {
        var headers = [
            ("Access-Control-Allow-Methods", "POST, GET, OPTIONS"), ("Access-Control-Allow-Headers", "*, Content-Type"),
            ("Access-Control-Max-Age", "86400"),
        ]
        if head.headers.contains(name: "Access-Control-Request-Private-Network") {
            headers.append(("Access-Control-Allow-Private-Network", "true"))
        }
        write(.noContent, [], headers)
    }

    private func refuse(_ refusal: WebRefusal) {
        request = nil
        keepsAlive = false
        let body: JSONValue = ["error": ["code": .string(refusal.code), "message": .string(refusal.message)]]
        var headers = [("Content-Type", "application/json")]
        if let allowed = refusal.allow { headers.append(("Allow", allowed)) }
        write(refusal.status, JSONCoding.encode(body), headers)
    }

    private func write(_ status: HTTPResponseStatus, _ body: [UInt8], _ headers: [(String, String)]) {
        guard channel.isActive else { return }
        isAnswering = false
        var head = HTTPResponseHead(version: .http1_1, status: status)
        head.headers.add(contentsOf: headers)
        head.headers.add(name: "Cache-Control", value: "no-store")
        head.headers.add(name: "X-Content-Type-Options", value: "nosniff")
        if let origin {
            head.headers.add(name: "Access-Control-Allow-Origin", value: origin)
            head.headers.add(name: "Vary", value: "Origin")
        }
        if status != .noContent { head.headers.add(name: "Content-Length", value: "\(body.count)") }
        if !keepsAlive { head.headers.add(name: "Connection", value: "close") }
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        if !body.isEmpty {
            channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        }
        let written = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
        guard !keepsAlive else { return wait(HTTPLimits.idle) }
        // The peer reads the answer before the connection is reset: it may still be sending.
        let channel = channel
        written.whenComplete { _ in channel.close(mode: .output, promise: nil) }
        wait(.seconds(1))
    }

    /// Ends the connection if nothing comes in this time: in silence between two requests, else with an answer.
    private func wait(_ time: TimeAmount) {
        timer?.cancel()
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        timer = channel.eventLoop.scheduleTask(in: time) {
            if time == HTTPLimits.patience {
                bound.value.refuse(.tooSlow)
            } else {
                bound.value.channel.close(promise: nil)
            }
        }
    }
}

/// A WebSocket (RFC 6455). It answers one message after the other.
private final class Aria2Socket: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let server: Aria2Server
    private let channel: any Channel
    private let admission: Aria2Server.Admission
    private var waiting: [[UInt8]] = []
    private var isAnswering = false
    private var pings: RepeatedTask?
    private var unanswered = 0

    static func begin(on channel: any Channel, _ server: Aria2Server, _ admission: Aria2Server.Admission) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 4096,
                maxAccumulatedFrameSize: Aria2Server.largestMessage))
        try pipeline.addHandler(Aria2Socket(server, channel, admission))
    }

    private init(_ server: Aria2Server, _ channel: any Channel, _ admission: Aria2Server.Admission) {
        (self.server, self.channel, self.admission) = (server, channel, admission)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if admission.mayListen { server.listens(channel) }
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        pings = channel.eventLoop.scheduleRepeatedTask(
            initialDelay: Aria2Server.pingInterval, delay: Aria2Server.pingInterval
        ) { _ in
            bound.value.ping()
        }
    }

    func channelInactive(context: ChannelHandlerContext) { pings?.cancel() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        unanswered = 0
        switch frame.opcode {
        case .text, .binary:
            waiting.append(Array(frame.unmaskedData.readableBytesView))
            answerNext()
        case .ping: write(.pong, frame.unmaskedData)
        case .connectionClose:
            let channel = channel
            write(.connectionClose, frame.unmaskedData).whenComplete { _ in channel.close(promise: nil) }
        default: break
        }
    }

    /// Until it is answered, nothing more is read than has come already.
    private func answerNext() {
        guard !isAnswering, !waiting.isEmpty else { return }
        isAnswering = true
        _ = channel.setOption(.autoRead, value: false)
        let message = waiting.removeFirst()
        let (endpoint, isTrusted, loop) = (server.endpoint, admission.isTrusted, channel.eventLoop)
        let bound = NIOLoopBound(self, eventLoop: loop)
        Task {
            let answer = await endpoint.answer(message, isTrusted: isTrusted)
            loop.execute { bound.value.answered(answer) }
        }
    }

    private func answered(_ answer: Aria2Endpoint.Answer) {
        isAnswering = false
        if answer.hasSecret { server.listens(channel) }
        write(.text, ByteBuffer(bytes: answer.body))
        guard waiting.isEmpty else { return answerNext() }
        _ = channel.setOption(.autoRead, value: true)
    }

    /// A peer that has answered nothing for a minute has gone.
    private func ping() {
        unanswered += 1
        guard unanswered <= 2 || isAnswering else { return channel.close(promise: nil) }
        write(.ping, ByteBuffer())
    }

    @discardableResult
    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> EventLoopFuture<Void> {
        channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, data: data))
    }
}
