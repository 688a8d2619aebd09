import CurlEngine
import Threading
import TransferModel

/// A part file opened for this attempt, and what of it is proven.
struct HeldPart: Sendable {
    var part: PartFile
    /// With the offset proven by the journal; nil where nothing is held.
    var checkpoint: Checkpoint?
}

/// Where a download's part file is kept, and under which name it is to be delivered.
struct PartPlace: Sendable {
    var plan: DestinationPlan
    var folder: Folder
}

/// The part file that an attempt works with: opened anew where it goes on with another place's bytes.
final class PartInHand: Sendable {
    private let state: Guarded<HeldPart>

    init(_ held: HeldPart) { state = Guarded(held) }

    var held: HeldPart { state.withLock { $0 } }

    func replace(with held: HeldPart) {
        let before = state.withLock { state in
            defer { state = held }
            return state
        }
        before.part.close()
    }

    func close() { held.part.close() }
}
