import CSimulation
import CurlEngine
import Glibc
import TransferCore
import TransferModel

/// The engine of a simulated daemon: servers that answer by the script of a seed, and a disk that tells what is synced.
///
/// Like everything here it is touched by one thread only.
final class ScriptedNetwork: ExchangePerforming, @unchecked Sendable {
    private unowned let world: World
    private var active: Set<TaskID> = []
    /// Bytes of part files that a power cut leaves, by inode.
    private(set) var synced: [UInt64: Int64] = [:]
    private var hasStuck = false
    /// Hosts that nobody reaches until then (nanoseconds since boot).
    private var downUntil: [String: Int64] = [:]

    init(_ world: World) { self.world = world }

    let journal: OffsetJournal? = nil

    /// The daemon is gone, and with it what it was doing.
    func crashed() { active = [] }

    // MARK: Exchanges

    func perform(
        _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, context: TransferContext
    ) async -> ExchangeOutcome {
        if !active.insert(context.task).inserted { world.violate("task \(context.task) runs twice at once") }
        if active.count > SimulatedDaemon.mostRunning { world.violate("\(active.count) tasks run at once") }
        checkWanted(context.task)
        defer { active.remove(context.task) }
        let outcome = await exchanged(exchange, part, context)
        world.note("exchange of \(context.task): \(outcome.end), offset \(outcome.offset)")
        return outcome
    }

    private func checkWanted(_ task: TaskID) {
        if world.client.wantsQuiet(task) { world.violate("task \(task) has traffic although it was stopped") }
    }

    /// Time passes; false where the exchange is to end.
    private func pass(atMost milliseconds: Int) async -> Bool {
        do {
            try await Task.sleep(for: .milliseconds(world.random.below(milliseconds + 1)))
            return true
        } catch {
            return false
        }
    }

    private func exchanged(_ exchange: Exchange, _ part: PartFile?, _ context: TransferContext) async -> ExchangeOutcome
    {
        func ended(_ end: ExchangeOutcome.End, _ head: ResponseHead? = nil) -> ExchangeOutcome {
            ExchangeOutcome(end: end, head: head, offset: exchange.startOffset)
        }
        guard await pass(atMost: 60) else { return ended(.aborted) }
        guard let number = Resource.number(inURL: exchange.url), let part else {
            return ended(.transport(code: 6, message: "there is no such host"))
        }
        let fault = world.hazards.contains(.network) ? world.random.below(100) : 99
        if isDown(world.resources[number].host) { return ended(.transport(code: 7, message: "connection refused")) }
        if world.hazards.contains(.version), world.random.chance(120) { world.resources[number].change() }
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
        default: break
        }
        let verdict = exchange.judge.judge(head)
        context.observer.transferResponded(head, verdict: verdict)
        switch verdict {
        case .stop(let reason): return ended(.stopped(reason), head)
        case .accept(let acceptance):
            let cut = (19..<45).contains(fault) ? world.random.below(body.count + 1) : nil
            return await Body(self, part, acceptance, head, context).receive(body, cutAfter: cut)
        }
    }

    /// Now and then a host is down for a while, so that it is held back as a whole.
    private func isDown(_ host: String) -> Bool {
        guard world.hazards.contains(.network) else { return false }
        let now = sim_now()
        if now < downUntil[host] ?? 0 { return true }
        guard world.random.chance(40) else { return false }
        downUntil[host] = now + Int64(world.random.below(600)) * 1_000_000_000
        return true
    }

    private func refusal(_ status: Int, _ name: String, _ value: String, _ url: String) -> ResponseHead {
        ResponseHead(
            url: url, status: status, httpVersion: "1.1",
            headers: [HeaderField(name, value), HeaderField("Content-Length", "0")])
    }

    func begin(
        _ exchange: Exchange, into part: PartFile, as segment: Segment, context: TransferContext,
        _ completion: @escaping @Sendable (ExchangeOutcome) -> Void
    ) -> RunningExchange {
        fatalError("downloads of several parts are not simulated")
    }

    func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> SegmentBoard {
        fatalError("downloads of several parts are not simulated")
    }

    // MARK: Rates: virtual time has none.

    func setRateLimits(global rate: ByteRate) {}
    func setRateLimit(session: SessionKey, _ rate: ByteRate) {}
    func setRateLimit(task: TaskID, _ rate: ByteRate) {}
    func setUploadRateLimits(global rate: ByteRate) {}
    func setUploadRateLimit(session: SessionKey, _ rate: ByteRate) {}
    func setUploadRateLimit(task: TaskID, _ rate: ByteRate) {}

    // MARK: Bodies

    /// One body on its way into memory or a part file, as the engine's contract has it.
    private final class Body: @unchecked Sendable {
        private let network: ScriptedNetwork
        private let part: PartFile
        private let acceptance: Acceptance
        private let head: ResponseHead
        private let context: TransferContext
        private var offset: Int64
        private var gathered: [UInt8]?

        init(
            _ network: ScriptedNetwork, _ part: PartFile, _ acceptance: Acceptance, _ head: ResponseHead,
            _ context: TransferContext
        ) {
            self.network = network
            self.part = part
            self.acceptance = acceptance
            self.head = head
            self.context = context
            offset = acceptance.offset.rawValue
        }

        private var world: World { network.world }

        private var checkpoint: Checkpoint {
            Checkpoint(
                offset: ByteCount(offset), total: acceptance.total, validators: acceptance.validators,
                contentCoding: acceptance.contentCoding, partPath: part.path, device: part.device, inode: part.inode,
                serverDigests: acceptance.serverDigests, origin: acceptance.origin)
        }

        func receive(_ body: ArraySlice<UInt8>, cutAfter cut: Int?) async -> ExchangeOutcome {
            context.counters.setTransferring(true)
            var rest = body.prefix(cut ?? body.count)
            if let refused = await prepare(&rest) { return refused }
            let begun = world.now
            while !rest.isEmpty {
                guard await network.pass(atMost: 40) else { return end(.aborted) }
                network.checkWanted(context.task)
                if world.now.since(begun) > 0.09 {
                    if gathered != nil, let failure = moveToFile() { return failure }
                    context.observer.transferLingers()
                }
                let piece = rest.prefix(1 + world.random.below(40_000))
                rest = rest.dropFirst(piece.count)
                if let failure = take(piece) { return failure }
                if gathered == nil, world.random.chance(250) { sync() }
            }
            return end(cut == nil ? .finished : .transport(code: 18, message: "the connection was cut"))
        }

        /// Empties the file where the answer replaces what it holds.
        private func prepare(_ rest: inout ArraySlice<UInt8>) async -> ExchangeOutcome? {
            let held = size
            if acceptance.truncate, held > 0 {
                if world.plant == .splice {
                    rest = rest.dropFirst(Int(held))
                    offset = held
                    return nil
                }
                let checkpoint = checkpoint
                await withCheckedContinuation { continuation in
                    context.observer.transferRestarting(checkpoint) { continuation.resume() }
                }
            } else if !part.isOpen, offset == 0, (acceptance.total ?? .zero) <= .kibibytes(64) {
                gathered = []
                return nil
            }
            return openFile()
        }

        private var size: Int64 {
            var status = stat()
            return part.isOpen && fstat(part.fileDescriptor, &status) == 0 ? Int64(status.st_size) : 0
        }

        private func openFile() -> ExchangeOutcome? {
            do {
                try part.open()
            } catch {
                return end(.local(errno: EIO, operation: "open"))
            }
            ftruncate(part.fileDescriptor, off_t(offset))
            network.synced[part.inode] = min(network.synced[part.inode] ?? 0, offset)
            context.observer.transferReachedFile(checkpoint)
            return nil
        }

        private func moveToFile() -> ExchangeOutcome? {
            guard let bytes = gathered else { return nil }
            gathered = nil
            offset = 0
            return openFile() ?? take(bytes[...])
        }

        private func take(_ piece: ArraySlice<UInt8>) -> ExchangeOutcome? {
            if gathered != nil {
                gathered?.append(contentsOf: piece)
                offset += Int64(piece.count)
                return (gathered?.count ?? 0) > 65_536 ? moveToFile() : nil
            }
            let written = piece.withUnsafeBytes { pwrite(part.fileDescriptor, $0.baseAddress, $0.count, off_t(offset)) }
            guard written == piece.count else { return end(.local(errno: errno, operation: "pwrite")) }
            offset += Int64(written)
            context.counters.setReceived(ByteCount(offset))
            return nil
        }

        private func sync() {
            network.synced[part.inode] = offset
            context.observer.transferCheckpointed(checkpoint)
        }

        private func end(_ end: ExchangeOutcome.End) -> ExchangeOutcome {
            let isWhole = end == .finished
            if !isWhole, gathered?.isEmpty == false, let failure = moveToFile() { return failure }
            if !isWhole, gathered == nil, part.isOpen { sync() }
            var outcome = ExchangeOutcome(
                end: end, head: head, offset: ByteCount(offset), received: ByteCount(offset) - acceptance.offset)
            if isWhole { outcome.gathered = gathered }
            return outcome
        }
    }
}
