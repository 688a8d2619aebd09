import CLinux
import DequeModule
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import TransferModel

/// The bounds of HTTP connections.
enum HTTPLimits {
    static let head = 16 << 10
    static let body = 8 << 20
    static let connections = 256
    /// Connections that have not sent a complete head yet.
    static let unfinished = 32
    /// For a complete head, and for each next byte of a body.
    static let patience = TimeAmount.seconds(10)
    static let idle = TimeAmount.seconds(60)
    /// For a reader to take one answer.
    static let delivery = TimeAmount.minutes(5)

    static var parser: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        (limits.maxHeaderFieldSize, limits.maxHeaderListSize) = (head, head)
        return limits
    }
}

/// All connections of one event loop, which alone uses it. Half-open connections never keep others out: a newcomer pushes
/// out the oldest of them.
final class HTTPConnections {
    private var all: [ObjectIdentifier: HTTPConnection] = [:]
    /// Oldest first.
    private var unfinished: [HTTPConnection] = []
    /// Called when the first one comes (true) and when the last one has gone (false).
    var changed: (_ areThereAny: Bool) -> Void = { _ in }

    /// - Returns: false if there is no room.
    fileprivate func add(_ connection: HTTPConnection) -> Bool {
        if unfinished.count >= HTTPLimits.unfinished || all.count >= HTTPLimits.connections {
            guard let oldest = unfinished.first else { return false }
            remove(oldest)
            oldest.drop()
        }
        all[ObjectIdentifier(connection)] = connection
        unfinished.append(connection)
        if all.count == 1 { changed(true) }
        return true
    }

    fileprivate func finished(_ connection: HTTPConnection) { unfinished.removeAll { $0 === connection } }

    fileprivate func remove(_ connection: HTTPConnection) {
        finished(connection)
        if all.removeValue(forKey: ObjectIdentifier(connection)) != nil, all.isEmpty { changed(false) }
    }
}

/// One connection: reads requests, lets gate and site decide, and writes answers, one at a time.
final class HTTPConnection: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Phase {
        case head
        case body(WebRequest)
        /// The answer is decided or being made. What comes meanwhile waits in `early`.
        case answering
        case streaming(EventStream)
    }

    private let site: Site
    private let connections: HTTPConnections
    private let channel: any Channel
    private let peer: Gate.Peer
    private var phase = Phase.head
    private var timer: Scheduled<Void>?
    private var keepsAlive = true
    private var isHead = false
    private var isOld = false
    /// Of the request that is being answered, for the count of requests.
    private var path = ""
    /// What the client has sent before it had its answer: the rest of one read, because none is made meanwhile.
    private var early: Deque<HTTPServerRequestPart> = []
    private var isReadWanted = false
    private var isGoingOn = false
    /// The client sends nothing more.
    private var hasInputEnded = false
    private var isIdle = false

    /// Adds the handlers of a new connection.
    static func begin(on channel: any Channel, _ site: Site, _ connections: HTTPConnections) throws {
        let pipeline = channel.pipeline.syncOperations
        let connection = HTTPConnection(site, connections, channel)
        try pipeline.addHandler(ArrivalHandler { connection.heard() })
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false, withEncoderConfiguration: .init(),
            withDecoderLimitConfiguration: HTTPLimits.parser)
        try pipeline.addHandler(connection)
    }

    private init(_ site: Site, _ connections: HTTPConnections, _ channel: any Channel) {
        (self.site, self.connections, self.channel) = (site, connections, channel)
        peer = Gate.Peer(of: channel)
    }

    func channelActive(context: ChannelHandlerContext) {
        guard connections.add(self) else { return refuse(.busy) }
        wait(HTTPLimits.patience)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        connections.remove(self)
        if case .streaming(let stream) = phase { site.hub.close(stream); stream.ended() }
        phase = .answering
    }

    /// Makes room for another connection.
    fileprivate func drop() { channel.close(promise: nil) }

    // MARK: Reading

    /// The first bytes of a head have come, which now has its time.
    private func heard() {
        guard case .head = phase, isIdle else { return }
        wait(HTTPLimits.patience)
    }

    func read(context: ChannelHandlerContext) {
        if case .answering = phase { isReadWanted = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .answering = phase { early.append(unwrapInboundIn(data)) } else { take(unwrapInboundIn(data)) }
    }

    private func take(_ part: HTTPServerRequestPart) {
        switch (part, phase) {
        case (.head(let head), .head): began(head)
        case (.body(let bytes), .body(var request)):
            guard request.body.count + bytes.readableBytes <= request.bodyLimit else { return refuse(.bodyTooLarge) }
            // Only one owner, so that the bytes are not copied each time.
            phase = .answering
            request.body.append(contentsOf: bytes.readableBytesView)
            phase = .body(request)
            wait(HTTPLimits.patience)
        case (.end, .body(let request)): answer(request)
        case (.head, _), (.body, _), (.end, _): break
        }
    }

    private func began(_ head: HTTPRequestHead) {
        connections.finished(self)
        // After a head with Upgrade, the parser takes nothing more for HTTP.
        keepsAlive = head.isKeepAlive && head.version == .http1_1 && !head.headers.contains(name: "Upgrade")
        (isHead, isOld, path) = (head.method == .HEAD, head.version != .http1_1, "")
        do throws(WebRefusal) {
            guard
                head.uri.utf8.count + head.headers.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count })
                    <= HTTPLimits.head
            else { throw .headTooLarge }
            let target = try WebTarget(head.uri)
            let gate = Gate(rules: site.rules, peer: peer)
            if !gate.isAllowed { keepsAlive = false }
            let passed = try gate.pass(head, target)
            path = passed.path
            let request = try site.admit(head, path: path, query: target.query, passed.forwarded)
            let length = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
            guard length <= request.bodyLimit else { throw .bodyTooLarge }
            phase = .body(request)
            wait(HTTPLimits.patience)
            if !isOld, head.headers["Expect"].contains(where: { $0.lowercased() == "100-continue" }) {
                channel.writeAndFlush(
                    HTTPServerResponsePart.head(.init(version: .http1_1, status: .continue)), promise: nil)
            }
        } catch {
            // The body of a refused request is not read, so the connection cannot be used again.
            let hasBody =
                head.headers.contains(name: "Content-Length") || head.headers.contains(name: "Transfer-Encoding")
            if hasBody { keepsAlive = false }
            refuse(error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return context.close(promise: nil) }
        connections.finished(self)
        if case .head = phase { (isHead, isOld, path) = (false, false, "") }
        switch phase {
        case .head: refuse(error == .headerOverflow ? .headTooLarge : .malformed("This is not an HTTP/1.1 request."))
        case .body: refuse(.malformed("The request's body is not acceptable."))
        // The answer that is being made goes first. Nothing after it can be read.
        case .answering: keepsAlive = false
        case .streaming: context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed {
            hasInputEnded = true
            // What was asked before is still answered.
            if case .answering = phase {} else { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if case .streaming(let stream) = phase, context.channel.isWritable { stream.flush() }
    }

    // MARK: Answering

    private func answer(_ request: WebRequest) {
        phase = .answering
        timer?.cancel()
        let (site, loop) = (site, channel.eventLoop)
        let bound = NIOLoopBound(self, eventLoop: loop)
        Task {
            let answer = await site.answer(request)
            loop.execute { bound.value.write(answer) }
        }
    }

    private func refuse(_ refusal: WebRefusal) {
        phase = .answering
        write(.refused(refusal))
    }

    private func write(_ answer: WebAnswer) {
        guard channel.isActive else { return }
        if answer.closes || isOld { keepsAlive = false }
        var stream: EventStream?
        if case .events(let after, let session) = answer.body {
            guard let opened = open(after: after, session: session) else { return refuse(.busy) }
            stream = opened
        }
        site.counted(path, answer.status)
        var head = HTTPResponseHead(version: .http1_1, status: answer.status)
        head.headers.add(contentsOf: Self.common)
        for (name, value) in answer.headers { head.headers.add(name: name, value: value) }
        if !head.headers.contains(name: "Cache-Control") { head.headers.add(name: "Cache-Control", value: "no-store") }
        switch answer.body {
        case .bytes(let bytes):
            if !keepsAlive { head.headers.add(name: "Connection", value: "close") }
            if answer.status != .noContent, answer.status != .notModified {
                head.headers.add(name: "Content-Length", value: "\(bytes.count)")
            }
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            if !isHead, !bytes.isEmpty {
                channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes))), promise: nil)
            }
            wait(HTTPLimits.delivery)
            let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
            channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in bound.value.written() }
        case .events:
            timer?.cancel()
            // Without chunks, the end of the connection ends the answer.
            if isOld { head.version = .http1_0 }
            channel.writeAndFlush(HTTPServerResponsePart.head(head), promise: nil)
            stream.map { phase = .streaming($0) }
            stream?.flush()
        }
    }

    /// The answer has gone out; before that, the next request is not looked at.
    private func written() {
        guard keepsAlive else {
            // Lets the peer read the answer before the connection is reset: it may still be sending.
            channel.close(mode: .output, promise: nil)
            let channel = channel
            timer?.cancel()
            timer = channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
            return
        }
        phase = .head
        wait(HTTPLimits.idle)
        goOn()
    }

    /// Takes what has come meanwhile. A loop, because an answer may have gone out before its call returns.
    private func goOn() {
        guard !isGoingOn else { return }
        isGoingOn = true
        defer { isGoingOn = false }
        while let part = early.first {
            if case .answering = phase { return }
            early.removeFirst()
            take(part)
        }
        if case .answering = phase { return }
        if hasInputEnded { return drop() }
        if isReadWanted {
            isReadWanted = false
            channel.read()
        }
    }

    private func open(after: Int64?, session: String) -> EventStream? {
        let channel = channel
        let stream = EventStream(session: session, channel: channel) { piece in
            channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(piece)), promise: nil)
        }
        guard site.hub.open(stream, after: after) else { return nil }
        // The session may have ended before the hub knew the stream.
        if !site.isSignedIn(session) { stream.end() }
        return stream
    }

    /// Ends the connection if nothing happens in this time; if a request has begun, with an answer.
    private func wait(_ time: TimeAmount) {
        timer?.cancel()
        isIdle = time == HTTPLimits.idle
        let isSilent = time != HTTPLimits.patience
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        timer = channel.eventLoop.scheduleTask(in: time) {
            if isSilent { bound.value.drop() } else { bound.value.refuse(.tooSlow) }
        }
    }

    /// The headers that every answer has.
    private static let common = HTTPHeaders([
        (
            "Content-Security-Policy",
            """
            default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
            connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
            frame-ancestors 'none'; require-trusted-types-for 'script'
            """
        ),
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ("X-Frame-Options", "DENY"),
    ])
}

/// Tells of bytes before the parser has a whole head of them.
private final class ArrivalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let arrived: () -> Void

    init(_ arrived: @escaping () -> Void) { self.arrived = arrived }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        arrived()
        context.fireChannelRead(data)
    }
}

extension Gate.Peer {
    /// Asks the kernel for the user at the other end.
    init(of channel: any Channel) {
        var user: UInt32 = 0
        let isKnown = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable {
            (socket: NIOBSDSocket.Handle) in
            dld_peer_user(socket, &user) == 0
        }
        if isKnown == true {
            self = .user(user)
        } else {
            let address = channel.remoteAddress?.ipAddress ?? ""
            self = address.hasPrefix("127.") || address == "::1" || address.isEmpty ? .unknown : .remote
        }
    }
}
