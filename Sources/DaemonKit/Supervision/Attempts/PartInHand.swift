import CurlEngine
import FileKit
import Threading
import TransferCore
import TransferModel

/// A part file opened for this attempt, and what is proven about it.
struct HeldPart: Sendable {
    var part: PartFile
    /// Includes the offset that the journal proved; nil if nothing is held.
    @BoxedOptional var checkpoint: Checkpoint?

    init(part: PartFile, checkpoint: Checkpoint?) {
        self.part = part
        self.checkpoint = checkpoint
    }
}

/// The folder of a download's part file, and the plan for its delivery.
struct PartPlace: Sendable {
    var plan: DestinationPlan
    var folder: Folder
}

/// The part file that an attempt works with. It is opened again when the attempt continues with another mirror.
final class PartInHand: Sendable {
    private let state: Guarded<(held: HeldPart, brought: [String?: ByteRangeSet])>

    init(_ held: HeldPart) { state = Guarded((held, [:])) }

    var held: HeldPart { state.withLock { $0.held } }
    /// The bytes that each mirror delivered in this attempt, by the names that checkpoints use.
    var brought: [String?: ByteRangeSet] { state.withLock { $0.brought } }

    func note(_ brought: [String?: ByteRangeSet]) {
        state.withLock { state in
            for (place, ranges) in brought {
                for range in ranges.ranges { state.brought[place, default: ByteRangeSet()].insert(range) }
            }
        }
    }

    func replace(with held: HeldPart) {
        let before = state.withLock { state in
            defer { state.held = held }
            return state.held
        }
        before.part.close()
    }

    func close() { held.part.close() }
}
