import DaemonSetup
import Threading
import TransferCore
import TransferModel

/// Which mirror of a file is asked, and with which request. It is one object, because waiting transfers hold it.
final class MirrorSearch: Sendable {
    private struct State {
        var choice: MirrorChoice
        var place: Int
        var inquiry: Inquiry
    }

    let mirrors: Mirrors
    /// Kept open while any mirror is asked.
    let pinned: PinnedFiles
    /// The mirror from which alone wrong bytes must come; nil if all mirrors may be asked.
    let only: Mirrors.Place?
    private let state: Guarded<State>

    init(
        _ mirrors: Mirrors, _ pinned: PinnedFiles, _ choice: MirrorChoice, _ inquiry: Inquiry,
        only: Mirrors.Place?
    ) {
        self.mirrors = mirrors
        self.pinned = pinned
        self.only = only
        state = Guarded(State(choice: choice, place: choice.first, inquiry: inquiry))
    }

    /// The current request.
    var inquiry: Inquiry { state.withLock { $0.inquiry } }

    /// What the failures of all mirrors mean for the task; nil if none failed.
    var failure: AttemptFailure? { state.withLock { $0.choice.failure } }

    /// Returns the mirror that follows the failed one; nil if the attempt is over.
    func next(after failure: AttemptFailure, holdsBytes: Bool) -> Int? {
        state.withLock { $0.choice.next(after: failure, of: $0.place, holdsBytes: holdsBytes) }
    }

    func turn(to place: Int, _ inquiry: Inquiry) {
        state.withLock { state in
            state.place = place
            state.inquiry = inquiry
        }
    }

    /// Notes the mirrors that were asked, and the ranges that each delivered.
    func asked(_ names: Set<String?>, _ brought: [String?: ByteRangeSet], _ hand: PartInHand) {
        let places = Set(mirrors.places.indices.filter { names.contains(mirrors.places[$0].name) })
        state.withLock { $0.choice.tried(places) }
        hand.note(brought)
    }
}

/// The request to one mirror, and the other mirrors of the file. It is one object, because waiting transfers hold it.
final class Inquiry: Sendable {
    let request: StrategyRequest
    let others: OtherMirrors

    init(request: StrategyRequest, others: OtherMirrors) {
        self.request = request
        self.others = others
    }
}

/// A download whose first exchanges are running. The attempt continues with it when they are over.
final class BegunDownload: Sendable {
    let place: PartPlace
    /// nil if the part file must first be moved to its new destination.
    let hand: PartInHand?
    /// nil if the mirrors could not be determined.
    let search: MirrorSearch?
    /// nil if no exchange could be started.
    let exchanges: FileExchanges?

    init(
        place: PartPlace, hand: PartInHand?, search: MirrorSearch?, exchanges: FileExchanges?
    ) {
        self.place = place
        self.hand = hand
        self.search = search
        self.exchanges = exchanges
    }
}

/// The exchanges that fetch a file, and the interpreter of their steps.
typealias FileExchanges = (course: any FileCourse, steps: StepInterpreter<Arrival>)
