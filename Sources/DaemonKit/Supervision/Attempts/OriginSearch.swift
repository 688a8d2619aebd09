import DaemonSetup
import Threading
import TransferCore
import TransferModel

/// Which of a file's places is asked, and what; one object, because transfers that wait hold it.
final class OriginSearch: Sendable {
    private struct State {
        var choice: OriginChoice
        var place: Int
        var inquiry: Inquiry
    }

    let origins: Origins
    /// Held open while any place is asked.
    let pinned: PinnedFiles
    let allowed: AskedPlaces
    private let state: Guarded<State>

    init(
        _ origins: Origins, _ pinned: PinnedFiles, _ choice: OriginChoice, _ inquiry: Inquiry,
        asking allowed: AskedPlaces
    ) {
        self.origins = origins
        self.pinned = pinned
        self.allowed = allowed
        state = Guarded(State(choice: choice, place: choice.first, inquiry: inquiry))
    }

    /// What is asked now.
    var inquiry: Inquiry { state.withLock { $0.inquiry } }

    /// What all places that failed mean for the task; nil if none did.
    var failure: AttemptFailure? { state.withLock { $0.choice.failure } }

    /// Where to go after the place that was asked failed; nil if the attempt is over.
    func next(after failure: AttemptFailure, holdsBytes: Bool) -> Int? {
        state.withLock { $0.choice.next(after: failure, of: $0.place, holdsBytes: holdsBytes) }
    }

    func turn(to place: Int, _ inquiry: Inquiry) {
        state.withLock { state in
            state.place = place
            state.inquiry = inquiry
        }
    }

    /// These places were asked, and brought so much.
    func asked(_ names: Set<String?>, _ brought: [String?: ByteRangeSet], _ hand: PartInHand) {
        let places = Set(origins.places.indices.filter { names.contains(origins.places[$0].name) })
        state.withLock { $0.choice.tried(places) }
        hand.note(brought)
    }
}

/// Which of a file's places may be asked.
enum AskedPlaces: Sendable {
    case all
    /// What is wrong in the file is to come from this one alone.
    case only(Origins.Place)
}

/// The request to one place, and where else the file is; one object, because transfers that wait hold it.
final class Inquiry: Sendable {
    let request: StrategyRequest
    let others: OtherOrigins

    init(request: StrategyRequest, others: OtherOrigins) {
        self.request = request
        self.others = others
    }
}

/// A download whose first exchanges are on the network: what the attempt continues with when they are over.
final class BegunDownload: Sendable {
    let place: PartPlace
    /// nil if the part has to follow its destination first.
    let opened: (hand: PartInHand, recorder: RunRecorder)?
    /// nil if it could not be found out where the file is.
    let search: OriginSearch?
    /// nil if none could be begun.
    let exchanges: FileExchanges?

    init(
        place: PartPlace, opened: (hand: PartInHand, recorder: RunRecorder)?, search: OriginSearch?,
        exchanges: FileExchanges?
    ) {
        self.place = place
        self.opened = opened
        self.search = search
        self.exchanges = exchanges
    }
}

/// The exchanges that bring a file, and what carries out their steps.
struct FileExchanges: Sendable {
    let course: any FileCourse
    let steps: StepInterpreter<Arrival>

    init(_ course: some FileCourse) {
        self.course = course
        steps = StepInterpreter(course)
    }
}
