import CSimulation
import CurlEngine
import Glibc
import TransferCore
import TransferModel

/// The engine of a simulated daemon: servers that answer by the script of a seed, and the engine's own file side.
///
/// Only one thread uses it, as with everything here.
final class ScriptedNetwork: ExchangePerforming, @unchecked Sendable {
    private unowned let world: World
    private let files: FileSide
    /// The number of running exchanges of each task.
    private var active: [TaskID: Int] = [:]
    private var hasStuck = false

    init(_ world: World) throws {
        self.world = world
        files = FileSide(
            journal: try OffsetJournal(path: world.folder + "/state/journal", slots: 16, boot: world.boot),
            bufferBound: .mebibytes(8), inPlace: true)
    }

    var journal: OffsetJournal? { files.journal }

    // MARK: Exchanges

    func start(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, as segment: Segment?,
        context: TransferContext, then report: @escaping @Sendable (ExchangeOutcome) -> Void
    ) -> RunningExchange {
        let task = Task { report(await perform(exchange, part, segment, source, context)) }
        return RunningExchange { task.cancel() }
    }

    private func perform(
        _ exchange: Exchange, _ part: PartFile?, _ segment: Segment?, _ source: UploadSource?,
        _ context: TransferContext
    ) async -> ExchangeOutcome {
        // The DELETE of an unwanted upload runs in parallel to its task.
        if exchange.method == "DELETE" { return await request(exchange, source, context) }
        if segment == nil, active[context.task] != nil { world.violate("task \(context.task) runs twice at once") }
        return await counted(exchange, part, segment, source, context)
    }

    func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> PartBoard {
        files.board(for: part, checkpoint, context: context)
    }

    private func counted(
        _ exchange: Exchange, _ part: PartFile?, _ segment: Segment?, _ source: UploadSource?,
        _ context: TransferContext
    ) async -> ExchangeOutcome {
        active[context.task, default: 0] += 1
        let most = SimulatedDaemon.mostRunning + (world.daemon?.withoutSlot ?? 0)
        if active.count > most { world.violate("\(active.count) tasks run at once") }
        let mostConnections = world.client.tasks[context.task]?.connections ?? Client.mostConnections
        if active[context.task, default: 0] > mostConnections {
            world.violate("task \(context.task) has \(active[context.task] ?? 0) connections")
        }
        checkWanted(context.task)
        world.machine.began(context.task)
        world.fairness.tried(host(of: exchange), context.session.owner)
        let outcome: ExchangeOutcome
        switch exchange.kind {
        case .request:
            if let number = Resource.number(inURL: exchange.url), exchange.method ?? "GET" == "GET" {
                world.note("request of \(context.task) for \(exchange.url)")
                outcome = await ScriptedFetch(world, self, exchange, number, context).perform()
                world.note("exchange of \(context.task): \(outcome.end), \(outcome.head?.status ?? 0)")
            } else {
                outcome = await request(exchange, source, context)
            }
        case .download, .probe:
            world.note(
                "request of \(context.task) at \(exchange.startOffset)\(part?.isOpen == true ? ", part open" : "")")
            outcome = await exchanged(exchange, part, segment, context)
            world.note("exchange of \(context.task): \(outcome.end), offset \(outcome.offset)")
        }
        noteHost(of: exchange, outcome, context.session.owner)
        context.observer.transferMeasured(ExchangeMetrics(fetchStart: world.metrics.add(context.task)))
        segment?.bound.close()
        active[context.task, default: 0] -= 1
        if active[context.task] == 0 { active[context.task] = nil }
        return outcome
    }

    private func host(of exchange: Exchange) -> String {
        exchange.url.split(separator: "/").dropFirst().first.map(String.init) ?? ""
    }

    /// Records the reasons why the host may be delayed.
    private func noteHost(of exchange: Exchange, _ outcome: ExchangeOutcome, _ owner: UserID) {
        let host = host(of: exchange)
        // The daemon must take this for silence, although it was not silence.
        let isPlanted = world.plant == .sick && isSick(exchange)
        switch outcome.end {
        // A server that shows a certificate is not silent.
        case .transport(code: 35, _), .transport(code: 60, _), .transport(code: 90, _): break
        case .transport, .stalled: if !isPlanted { world.fairness.silent(host) }
        case .finished, .stopped, .local, .overrun, .refusedRedirect, .aborted: break
        }
        if let head = outcome.head, head.status == 429 || head.status == 503,
            let seconds = head.values("retry-after").first.flatMap({ Int64($0) })
        {
            world.fairness.throttled(host, owner, seconds: max(1, seconds))
        }
    }

    private func request(
        _ exchange: Exchange, _ source: UploadSource?, _ context: TransferContext
    ) async -> ExchangeOutcome {
        let name = "\(exchange.method ?? "GET") \(exchange.url)"
        world.note("\(name) of \(context.task), body at \(exchange.payload.sourceOffset.map { "\($0)" } ?? "-")")
        let outcome = await ScriptedRequest(world, self, files, exchange, source, context).perform()
        world.note(
            "\(name) of \(context.task): \(outcome.end), \(outcome.head?.status ?? 0), \(outcome.sent) bytes sent")
        return outcome
    }

    /// The number of tasks with a running exchange.
    var activeCount: Int { active.count }

    /// Tells whether an exchange of the task runs.
    func isActive(_ task: TaskID) -> Bool { active[task] != nil }

    func checkWanted(_ task: TaskID) {
        if world.client.wantsQuiet(task) || world.volatiles.wantsQuiet(task) {
            world.violate("task \(task) has traffic although it was stopped")
        }
    }

    /// Lets time pass. Returns false if the exchange must end.
    func pass(atMost milliseconds: Int) async -> Bool {
        do {
            try await Task.sleep(for: .milliseconds(world.random.below(milliseconds + 1)))
            return true
        } catch {
            return false
        }
    }

    private final class Gate: @unchecked Sendable {
        var isOpen = false
    }

    /// Waits after the header of an answer while a client decides about it.
    /// - Parameter mayLose: Whether the connection may break while it waits.
    /// - Returns: How the exchange ends instead, or nil if the body may come.
    func held(
        _ exchange: Exchange, _ head: ResponseHead, at offset: ByteCount, _ context: TransferContext, mayLose: Bool
    ) async -> ExchangeOutcome.End? {
        guard let hold = exchange.hold, offset == .zero, hold.applies(to: head) else { return nil }
        let gate = Gate()
        context.observer.transferHeld(head) { gate.isOpen = true }
        while !gate.isOpen {
            guard await pass(atMost: 2000) else { return .aborted }
            if mayLose, world.hazards.contains(.network), world.random.chance(20) {
                return .transport(code: 56, message: "the connection was lost")
            }
        }
        return nil
    }

    private func exchanged(
        _ exchange: Exchange, _ part: PartFile?, _ segment: Segment?, _ context: TransferContext
    ) async -> ExchangeOutcome {
        func ended(_ end: ExchangeOutcome.End, _ head: ResponseHead? = nil) -> ExchangeOutcome {
            ExchangeOutcome(end: end, head: head, offset: exchange.startOffset)
        }
        guard await pass(atMost: 60) else { return ended(.aborted) }
        guard let number = Resource.number(inURL: exchange.url), let part else {
            return ended(.transport(code: 6, message: "there is no such host"))
        }
        let fault = world.hazards.contains(.network) ? world.random.below(100) : 99
        let resource = world.resources[number]
        if world.isDown(resource.host) { return ended(.transport(code: 7, message: "connection refused")) }
        if let refusal = world.tls.refusal(of: exchange, context) { return refusal }
        if resource.isSick, world.hasBadServers { return await sick(exchange, part, segment, context) }
        if resource.slowness > 0, world.hasBadServers {
            guard await pass(atMost: resource.slowness * 1000) else { return ended(.aborted) }
        }
        // What was cut off meets another version mostly.
        if world.hazards.contains(.version), world.random.chance(exchange.startOffset > .zero ? 500 : 200) {
            world.resources[number].change()
        }
        switch fault {
        case 0..<6: return ended(.transport(code: 7, message: "connection refused"))
        case 6..<8: return ended(.transport(code: 6, message: "name not found"))
        case 8..<10:
            guard await pass(atMost: 120_000) else { return ended(.aborted) }
            return ended(.stalled)
        default: break
        }
        if world.plant == .stuck, !hasStuck, world.random.chance(300) {
            hasStuck = true
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
        var (head, body) = world.resources[number].answer(to: exchange.allHeaders, at: world.now)
        switch fault {
        case 10..<14: (head, body) = (refusal(503, "Retry-After", "\(world.random.below(90))", exchange.url), [])
        case 14..<16: (head, body) = (refusal(500, "X", "y", exchange.url), [])
        case 16..<17: (head, body) = (refusal(404, "X", "y", exchange.url), [])
        case 17..<19: (head, body) = (refusal(429, "Retry-After", "5", exchange.url), [])
        default: if resource.refuses(exchange.network) { (head, body) = (challenge(exchange.url), []) }
        }
        if exchange.redirects == .ask, world.random.chance(200) {
            let target = TaskRequest(url: exchange.url, method: "GET", headers: exchange.headers)
            let reason = StopReason.redirect(StandingRequest(target, redirects: 1))
            let head = refusal(302, "Location", exchange.url, exchange.url)
            context.observer.transferResponded(head, verdict: .stop(reason))
            return ended(.stopped(reason), head)
        }
        let verdict = exchange.judge.judge(head)
        context.observer.transferResponded(head, verdict: verdict)
        switch verdict {
        case .stop(let reason): return ended(.stopped(reason), head)
        case .accept(let acceptance):
            if let end = await held(exchange, head, at: acceptance.offset, context, mayLose: true) {
                return ended(end, head)
            }
            let isCut = world.hazards.contains(.network) && world.random.chance(world.odds.cut)
            let cut = isCut ? world.random.below(body.count + 1) : nil
            let way = ScriptedBody(world, self, files, part, segment, acceptance, head, context)
            return await way.receive(body, cutAfter: cut)
        }
    }

    private func isSick(_ exchange: Exchange) -> Bool {
        Resource.number(inURL: exchange.url).map { world.resources.indices.contains($0) && world.resources[$0].isSick }
            ?? false
    }

    /// The server answers 500 for this URL.
    private func sick(
        _ exchange: Exchange, _ part: PartFile, _ segment: Segment?, _ context: TransferContext
    ) async -> ExchangeOutcome {
        if world.plant == .sick {
            return ExchangeOutcome(
                end: .transport(code: 7, message: "connection refused"), offset: exchange.startOffset)
        }
        let head = refusal(500, "X", "y", exchange.url)
        switch exchange.judge.judge(head) {
        case .stop(let reason):
            return ExchangeOutcome(end: .stopped(reason), head: head, offset: exchange.startOffset)
        case .accept(let acceptance):
            let way = ScriptedBody(world, self, files, part, segment, acceptance, head, context)
            return await way.receive([], cutAfter: nil)
        }
    }

    func challenge(_ url: String) -> ResponseHead { refusal(401, "WWW-Authenticate", "Basic realm=\"x\"", url) }

    func refusal(_ status: Int, _ url: String) -> ResponseHead { refusal(status, "X", "y", url) }

    private func refusal(_ status: Int, _ name: String, _ value: String, _ url: String) -> ResponseHead {
        ResponseHead(
            url: url, status: status, httpVersion: "1.1",
            headers: [HeaderField(name, value), HeaderField("Content-Length", "0")])
    }

    // MARK: Rates: virtual time has none.

    func setRateLimits(global rate: ByteRate) {}
    func setRateLimit(session: SessionKey, _ rate: ByteRate) {}
    func setRateLimit(task: TaskID, _ rate: ByteRate) {}
    func setUploadRateLimits(global rate: ByteRate) {}
    func setUploadRateLimit(session: SessionKey, _ rate: ByteRate) {}
    func setUploadRateLimit(task: TaskID, _ rate: ByteRate) {}
}
