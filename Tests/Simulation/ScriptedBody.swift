import CurlEngine
import TransferCore
import TransferModel

/// One body on its way into memory, or through a sink into its part file. It does what the reactor does with libcurl's
/// bytes.
final class ScriptedBody: @unchecked Sendable {
    private unowned let world: World
    private let network: ScriptedNetwork
    private let files: FileSide
    private let part: PartFile
    private let segment: Segment?
    private var acceptance: Acceptance
    private let head: ResponseHead
    private let context: TransferContext
    private var offset: Int64
    private var received: Int64 = 0
    /// Kept in memory for a part file that is only planned.
    private var gathered: [UInt8]?
    private var sink: PartSink?

    /// A body up to this length that arrives at once needs no part file.
    private static let gatheredLength = ByteCount.kibibytes(64)
    /// In seconds. After this time the bytes should be safe from a crash.
    private static let gatheringTime: Seconds = 0.09

    init(
        _ world: World, _ network: ScriptedNetwork, _ files: FileSide, _ part: PartFile, _ segment: Segment?,
        _ acceptance: Acceptance, _ head: ResponseHead, _ context: TransferContext
    ) {
        self.world = world
        self.network = network
        self.files = files
        self.part = part
        self.segment = segment
        self.acceptance = acceptance
        self.head = head
        self.context = context
        offset = acceptance.offset.rawValue
    }

    func receive(_ body: ArraySlice<UInt8>, cutAfter cut: Int?) async -> ExchangeOutcome {
        context.counters.setTransferring(true)
        let whole = acceptance.total ?? acceptance.expected.map { acceptance.offset + $0 }
        context.counters.setExpected(whole?.rawValue ?? -1)
        var rest = body.prefix(cut ?? body.count)
        await prepare(&rest)
        let begun = world.now
        let slowness = [5, 40, 400][world.random.below(3)]
        while !rest.isEmpty {
            guard await network.pass(atMost: slowness) else { return await end(.aborted) }
            network.checkWanted(context.task)
            if world.now.since(begun) > Self.gatheringTime {
                if gathered?.isEmpty == false { moveToFile() }
                context.observer.transferLingers()
            }
            let piece = rest.prefix(1 + world.random.below(40_000))
            rest = rest.dropFirst(piece.count)
            if take(piece) { return await end(.finished) }
            if let failure = sink?.failure {
                return await end(.local(errno: failure.errno, operation: failure.operation))
            }
        }
        return await end(cut == nil ? .finished : .transport(code: 18, message: "the connection was cut"))
    }

    /// If the file is to be emptied, replaces the stored checkpoint first. Then chooses the destination of the bytes.
    private func prepare(_ rest: inout ArraySlice<UInt8>) async {
        if acceptance.truncate, part.mayHoldBytes {
            if world.plant == .splice, let held = world.size(of: part.path), held > 0 {
                rest = rest.dropFirst(Int(held))
                offset = held
                acceptance.offset = ByteCount(held)
                acceptance.truncate = false
                return moveToFile()
            }
            let checkpoint = Checkpoint(
                offset: ByteCount(offset), total: acceptance.total, validators: acceptance.validators,
                contentCoding: acceptance.contentCoding, partPath: part.path, device: part.device, inode: part.inode,
                serverDigests: acceptance.serverDigests, mirror: acceptance.mirror)
            await withCheckedContinuation { continuation in
                context.observer.transferRestarting(checkpoint) { continuation.resume() }
            }
        } else if !part.isOpen, offset == 0, (acceptance.total ?? .zero) <= Self.gatheredLength {
            gathered = []
            return
        }
        moveToFile()
    }

    private func moveToFile() {
        let sink = files.sink(part, acceptance, context, on: segment?.board) {}
        self.sink = sink
        sink.open()
        if let segment {
            segment.bound.begin(at: acceptance.offset.rawValue)
            segment.accepted(head, acceptance)
        }
        guard let bytes = gathered else { return }
        gathered = nil
        submit(bytes[...], to: sink)
    }

    /// Returns true if the segment has ended although its answer continues.
    private func take(_ piece: ArraySlice<UInt8>) -> Bool {
        received += Int64(piece.count)
        if gathered != nil {
            gathered?.append(contentsOf: piece)
            offset += Int64(piece.count)
            if ByteCount(offset) > Self.gatheredLength { moveToFile() }
            return false
        }
        guard let sink else { return false }
        let end = segment.map { $0.bound.claim(offset + Int64(piece.count)) } ?? .max
        let own = piece.prefix(Int(max(0, end - offset)))
        offset += Int64(own.count)
        submit(own, to: sink)
        return own.count < piece.count || segment?.bound.isOver(at: offset) == true
    }

    private func submit(_ bytes: ArraySlice<UInt8>, to sink: PartSink) {
        var rest = bytes
        while !rest.isEmpty {
            let piece = rest.prefix(64 << 10)
            rest = rest.dropFirst(piece.count)
            guard let buffer = files.buffer(holding: piece.count) else {
                return world.violate("buffers were not returned")
            }
            piece.withUnsafeBytes { if let base = $0.baseAddress { buffer.append(base, $0.count) } }
            sink.submit(buffer)
        }
    }

    private func end(_ end: ExchangeOutcome.End) async -> ExchangeOutcome {
        segment?.bound.close()
        let isWhole = end == .finished && (acceptance.total == nil || acceptance.total == ByteCount(offset))
        var outcome = ExchangeOutcome(end: end, head: head, offset: ByteCount(offset), received: ByteCount(received))
        outcome.verdict = .accept(acceptance)
        if gathered != nil, isWhole {
            outcome.gathered = gathered
            context.counters.setReceived(outcome.offset)
            return outcome
        }
        if gathered?.isEmpty == false { moveToFile() }
        guard let sink else { return outcome }
        let ending = await withCheckedContinuation { continuation in
            sink.finish(syncing: !isWhole) { continuation.resume(returning: $0) }
        }
        outcome.offset = ByteCount(ending.offset)
        if let failure = ending.failure { outcome.end = .local(errno: failure.errno, operation: failure.operation) }
        return outcome
    }
}
