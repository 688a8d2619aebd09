import TransferModel
import TransferStore

/// Chooses which stored endings of uploads run. An ending that was read from the store may be over by the time it is
/// examined. Therefore the result of a read starts no ending that ended during the read.
struct EndingRuns {
    /// How many may run at a time.
    let width: Int
    private var running: Set<Int64> = []
    private var readers = 0
    private var endedMeanwhile: Set<Int64> = []

    init(width: Int) { self.width = width }

    /// The endings to begin now, and the time when the next one is due; nil if there is none, or if a running one must
    /// end first.
    typealias Turn = (begun: [UploadEnding], next: Timestamp?)

    mutating func willRead() { readers += 1 }

    /// Must follow each `willRead`.
    /// - Parameter pending: the stored endings by due time; empty if reading failed.
    mutating func didRead(_ pending: [UploadEnding], at now: Timestamp) -> Turn {
        var turn: Turn = ([], nil)
        for ending in pending where !running.contains(ending.id) && !endedMeanwhile.contains(ending.id) {
            guard ending.nextAttemptAt <= now else {
                turn.next = ending.nextAttemptAt
                break
            }
            guard running.count < width else { break }
            running.insert(ending.id)
            turn.begun.append(ending)
        }
        readers -= 1
        if readers == 0 { endedMeanwhile = [] }
        return turn
    }

    mutating func didEnd(_ id: Int64) {
        running.remove(id)
        if readers > 0 { endedMeanwhile.insert(id) }
    }
}
