import CurlEngine
import TransferCore
import TransferModel

/// One request for a resource, whose answer is kept or streamed to a client. It does what the reactor does with
/// libcurl.
final class ScriptedFetch {
    private unowned let world: World
    private let network: ScriptedNetwork
    private let exchange: Exchange
    private let context: TransferContext
    private let number: Int

    init(
        _ world: World, _ network: ScriptedNetwork, _ exchange: Exchange, _ number: Int, _ context: TransferContext
    ) {
        self.world = world
        self.network = network
        self.exchange = exchange
        self.number = number
        self.context = context
    }

    func perform() async -> ExchangeOutcome {
        guard await network.pass(atMost: 60) else { return unsent(.aborted) }
        let resource = world.resources[number]
        let fault = world.hazards.contains(.network) ? world.random.below(100) : 99
        if world.isDown(resource.host) { return unsent(.transport(code: 7, message: "connection refused")) }
        if let refusal = world.tls.refusal(of: exchange, context) { return refusal }
        if resource.slowness > 0, world.hasBadServers {
            guard await network.pass(atMost: resource.slowness * 1000) else { return outcome(.aborted) }
        }
        if world.hazards.contains(.version), world.random.chance(60) { world.resources[number].change() }
        switch fault {
        case 0..<4: return unsent(.transport(code: 7, message: "connection refused"))
        case 4..<6:
            guard await network.pass(atMost: 120_000) else { return outcome(.aborted) }
            return outcome(.stalled)
        default: break
        }
        var (head, body) = world.resources[number].answer(to: exchange.allHeaders, at: world.now)
        if resource.isSick && world.hasBadServers || (6..<9).contains(fault) {
            (head, body) = (network.refusal(500, exchange.url), [])
        } else if resource.refuses(exchange.network) {
            (head, body) = (network.challenge(exchange.url), [])
        }
        let verdict = exchange.judge.judge(head)
        context.observer.transferResponded(head, verdict: verdict)
        guard case .accept(let acceptance) = verdict else {
            if case .stop(let reason) = verdict { return outcome(.stopped(reason), head) }
            return outcome(.finished, head)
        }
        if let end = await network.held(exchange, head, at: acceptance.offset, context, mayLose: true) {
            return outcome(end, head)
        }
        let cut = (19..<40).contains(fault) ? world.random.below(body.count + 1) : nil
        var result: ExchangeOutcome
        if let receiver = context.receiver {
            result = outcome(await stream(body, to: receiver, head, cutAfter: cut), head)
        } else {
            result = await kept(body, head, cutAfter: cut)
        }
        result.verdict = verdict
        result.delimited = head.values("Content-Length").first != nil
        return result
    }

    private func kept(_ body: ArraySlice<UInt8>, _ head: ResponseHead, cutAfter cut: Int?) async -> ExchangeOutcome {
        guard await network.pass(atMost: 400) else { return outcome(.aborted, head) }
        network.checkWanted(context.task)
        let whole = body.prefix(Int(clamping: exchange.responseLimit.rawValue))
        var result = outcome(cut == nil ? .finished : Self.wasCut, head)
        result.body = Array(cut.map { whole.prefix($0) } ?? whole)
        result.isBodyTruncated = cut == nil && whole.count < body.count
        result.received = ByteCount(Int64(result.body.count))
        return result
    }

    private static let wasCut = ExchangeOutcome.End.transport(code: 18, message: "the connection was cut")

    private final class Waking: @unchecked Sendable {
        var isWoken = false
    }

    /// While the receiver takes nothing, nothing is read and the connection may break.
    private func stream(
        _ body: ArraySlice<UInt8>, to receiver: any BodyReceiver, _ head: ResponseHead, cutAfter cut: Int?
    ) async -> ExchangeOutcome.End {
        let waking = Waking()
        receiver.begin(head) { waking.isWoken = true }
        var rest = body.prefix(cut ?? body.count)
        while !rest.isEmpty {
            guard await network.pass(atMost: 40) else { return .aborted }
            network.checkWanted(context.task)
            let piece = Array(rest.prefix(1 + world.random.below(16_000)))
            waking.isWoken = false
            switch piece.withUnsafeBytes({ receiver.take($0) }) {
            case .taken: rest = rest.dropFirst(piece.count)
            case .held(let taken):
                rest = rest.dropFirst(taken)
                while !waking.isWoken {
                    guard await network.pass(atMost: 2000) else { return .aborted }
                    if world.hazards.contains(.network), world.random.chance(5) { return Self.wasCut }
                }
            case .refused(let error):
                world.violate("a stream refused what no coding was made of: \(error)")
                return .aborted
            }
        }
        return cut == nil ? .finished : Self.wasCut
    }

    private func unsent(_ end: ExchangeOutcome.End) -> ExchangeOutcome {
        var unsent = outcome(end)
        unsent.wasSent = false
        return unsent
    }

    private func outcome(_ end: ExchangeOutcome.End, _ head: ResponseHead? = nil) -> ExchangeOutcome {
        ExchangeOutcome(end: end, head: head)
    }
}
