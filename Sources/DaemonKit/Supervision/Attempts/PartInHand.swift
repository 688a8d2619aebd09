import CurlEngine
import FileKit
import Threading
import TransferCore
import TransferModel

/// A part file opened for this attempt, and what of it is proven.
struct HeldPart: Sendable {
    var part: PartFile
    /// With the offset proven by the journal; nil if nothing is held.
    @BoxedOptional var checkpoint: Checkpoint?

    init(part: PartFile, checkpoint: Checkpoint?) {
        self.part = part
        self.checkpoint = checkpoint
    }
}

/// Where a download's part file is kept, and under which name it is to be delivered.
struct PartPlace: Sendable {
    var plan: DestinationPlan
    var folder: Folder
}

/// The part file that an attempt works with: opened anew where it goes on with another place's bytes.
final class PartInHand: Sendable {
    private struct State {
        var held: HeldPart
        var brought: [String?: ByteRangeSet] = [:]
    }

    private let state: Guarded<State>

    init(_ held: HeldPart) { state = Guarded(State(held: held)) }

    var held: HeldPart { state.withLock { $0.held } }
    /// Which bytes came from which place in this attempt, as checkpoints name them.
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
