import CurlEngine
import FileKit
import TransferCore
import TransferModel

/// One request with a body to a simulated server, and its answer. It does what the reactor does with libcurl.
final class ScriptedRequest {
    /// What goes wrong with the request.
    private enum Fault {
        case none, refused, nameless, silent
        /// The server refuses: before it has acted, or without telling whether it has.
        case busy(Int), broken
        /// The connection breaks: in the body, or before the answer.
        case cut, unanswered
        /// The body of the answer breaks off.
        case halfAnswer
        /// The server answers while the body is on its way, and reads no more of it.
        case short
    }

    private unowned let world: World
    private let network: ScriptedNetwork
    private let exchange: Exchange
    private let context: TransferContext
    private let feed: PayloadFeed?
    private let host: String
    private let source: UploadSource?
    private var sent = 0
    private var interim: [ResponseHead] = []

    init(
        _ world: World, _ network: ScriptedNetwork, _ files: FileSide, _ exchange: Exchange, _ source: UploadSource?,
        _ context: TransferContext
    ) {
        self.world = world
        self.network = network
        var exchange = exchange
        if world.plant == .misplace, case .source(_, let length) = exchange.payload {
            exchange.payload = .source(offset: 0, length: length)
        }
        self.exchange = exchange
        self.context = context
        self.source = source
        feed = files.feed(exchange, source: source)
        host = exchange.url.split(separator: "/").dropFirst().first.map(String.init) ?? ""
    }

    private var length: Int { Int(feed?.length ?? 0) }

    private func chooseFault() -> Fault {
        switch world.hazards.contains(.network) ? world.random.below(100) : 99 {
        case 0..<4: .refused
        case 4..<5: .nameless
        case 5..<7: .silent
        case 7..<10: .busy(503)
        case 10..<12: .busy(429)
        case 12..<15: .broken
        case 15..<28: .cut
        case 28..<37: .unanswered
        case 37..<40: .halfAnswer
        case 40..<44: .short
        default: .none
        }
    }

    func perform() async -> ExchangeOutcome {
        defer { feed?.end() }
        guard await network.pass(atMost: 60) else { return unsent(.aborted) }
        let fault = chooseFault()
        if world.isDown(host) { return unsent(.transport(code: 7, message: "connection refused")) }
        switch fault {
        case .refused: return unsent(.transport(code: 7, message: "connection refused"))
        case .nameless: return unsent(.transport(code: 6, message: "name not found"))
        case .none, .silent, .busy, .broken, .cut, .unanswered, .halfAnswer, .short: break
        }
        if world.hazards.contains(.network), world.random.chance(40) { world.server.forgetSomething(at: exchange.url) }
        guard let delivery = world.server.begin(exchange, length: length) else {
            return unsent(.transport(code: 6, message: "there is no such host"))
        }
        defer { world.server.ended(delivery) }
        tellPlace(delivery)
        if let end = await send(to: delivery, fault) {
            delivery.cut()
            return outcome(end)
        }
        return await answer(of: delivery, fault)
    }

    /// From version 8 on, the server can announce the location of a new upload in a 104.
    private func tellPlace(_ delivery: Delivery) {
        guard let reader = exchange.interimReader, let upload = delivery.upload, world.random.chance(700)
        else { return }
        let head = ResponseHead(
            url: exchange.url, status: 104, httpVersion: "1.1",
            headers: [HeaderField("Location", delivery.target.place(of: upload))])
        interim.append(head)
        if let progress = reader(head) { context.observer.transferProgressed(progress) }
    }

    // MARK: The body

    /// - Returns: How the exchange ends if no answer comes.
    private func send(to delivery: Delivery, _ fault: Fault) async -> ExchangeOutcome.End? {
        guard let feed else { return nil }
        feed.start {}
        context.counters.setTransferring(true)
        let last = lastByte(delivery, fault)
        let slowness = [5, 40, 400][world.random.below(3)]
        var buffer = [UInt8](repeating: 0, count: 40_000)
        while sent < last {
            guard await network.pass(atMost: slowness) else { return .aborted }
            if method != "DELETE" { network.checkWanted(context.task) }
            let room = min(1 + world.random.below(buffer.count), last - sent)
            switch read(feed, &buffer, room) {
            case .bytes(let count):
                delivery.take(buffer[..<count])
                sent += count
                publishSent()
            case .wait, .push:
                world.violate("the source is not read")
                return .aborted
            case .failed(let end): return end
            }
        }
        guard case .cut = fault else { return nil }
        return .transport(code: sent < length ? 55 : 56, message: "the connection was cut")
    }

    /// Returns the offset at which the sending stops.
    private func lastByte(_ delivery: Delivery, _ fault: Fault) -> Int {
        // The bytes that are on their way when a server refuses.
        if delivery.refusal != nil { return world.random.below(length + 1) }
        switch fault {
        case .cut, .silent, .busy, .short: return world.random.below(length + 1)
        case .none, .refused, .nameless, .broken, .unanswered, .halfAnswer: return length
        }
    }

    /// A feed that reads in place may have to be asked twice.
    private func read(_ feed: PayloadFeed, _ buffer: inout [UInt8], _ room: Int) -> PayloadFeed.Read {
        buffer.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return .wait }
            for _ in 0..<3 {
                let read = feed.read(into: base, room)
                if read != .wait { return read }
            }
            return .wait
        }
    }

    private func publishSent() {
        switch exchange.payload {
        case .none: break
        case .bytes: if source == nil { context.counters.setSent(ByteCount(Int64(sent))) }
        case .source(let offset, _): context.counters.setSent(offset + ByteCount(Int64(sent)))
        case .framed: context.counters.setSent(ByteCount(Int64(sent)))
        }
    }

    // MARK: The answer

    private func answer(of delivery: Delivery, _ fault: Fault) async -> ExchangeOutcome {
        // A server that has acted may still need time to answer.
        var said = sent == length && world.random.chance(500) ? self.said(by: delivery, fault) : nil
        let isStopped = await !network.pass(atMost: 60)
        if case .silent = fault, !isStopped {
            guard await network.pass(atMost: 120_000) else { return ending(delivery, .aborted) }
            return ending(delivery, .stalled)
        }
        if isStopped { return ending(delivery, .aborted) }
        said = said ?? self.said(by: delivery, fault)
        if case .unanswered = fault { return outcome(.transport(code: 52, message: "nothing was answered")) }
        guard let said else { return outcome(.aborted) }
        let head = ResponseHead(
            url: exchange.url, status: said.status, httpVersion: "1.1",
            headers: said.headers + [HeaderField("Content-Length", "\(said.body.count)")])
        context.observer.transferResponded(head, verdict: exchange.judge.judge(head))
        if let end = await network.held(exchange, head, at: .zero, context, mayLose: false) {
            return ending(delivery, end)
        }
        let whole = await received(said.body, head, fault)
        if whole.end == .finished { delivery.wasHeard(head) }
        return whole
    }

    private func ending(_ delivery: Delivery, _ end: ExchangeOutcome.End) -> ExchangeOutcome {
        delivery.cut()
        return outcome(end)
    }

    private func said(by delivery: Delivery, _ fault: Fault) -> ServerAnswer {
        if delivery.refusal != nil { return delivery.answer() }
        switch fault {
        case .busy(let status):
            delivery.refuse()
            return delivery.trouble(status, [("Retry-After", "\(world.random.below(90))")])
        case .broken:
            _ = delivery.answer()
            return delivery.trouble(500)
        case .short where sent < length && !delivery.mayEndEarly:
            delivery.refuse()
            return delivery.trouble(503)
        case .none, .refused, .nameless, .silent, .cut, .unanswered, .halfAnswer, .short: return delivery.answer()
        }
    }

    private func received(_ body: [UInt8], _ head: ResponseHead, _ fault: Fault) async -> ExchangeOutcome {
        var whole = outcome(.finished, head)
        whole.body = Array(body.prefix(Int(clamping: exchange.responseLimit.rawValue)))
        guard !body.isEmpty else { return whole }
        guard await network.pass(atMost: 40) else {
            whole.end = .aborted
            return whole
        }
        if case .halfAnswer = fault {
            whole.end = .transport(code: 18, message: "the connection was cut")
            whole.body = Array(body.prefix(world.random.below(body.count)))
        }
        return whole
    }

    // MARK: The outcome

    private var method: String { exchange.method ?? "GET" }

    private func unsent(_ end: ExchangeOutcome.End) -> ExchangeOutcome {
        var unsent = outcome(end)
        unsent.wasSent = false
        return unsent
    }

    private func outcome(_ end: ExchangeOutcome.End, _ head: ResponseHead? = nil) -> ExchangeOutcome {
        var outcome = ExchangeOutcome(end: end, head: head)
        outcome.sent = ByteCount(Int64(sent))
        outcome.isSentWhole = sent >= length
        outcome.interim = interim
        return outcome
    }
}
