import TransferModel
import TransferStore

/// Which of the stored endings run. What was read from the store may be over by the time it is looked at, so endings that
/// end while somebody reads are not begun from what that one has read.
struct EndingRuns {
    /// At one time.
    let width: Int
    private var running: Set<Int64> = []
    private var readers = 0
    private var endedMeanwhile: Set<Int64> = []

    init(width: Int) { self.width = width }

    /// What is to begin now, and when the next one is due; nil if none is, or none before one of these ends.
    struct Turn: Equatable {
        var begun: [UploadEnding] = []
        var next: Timestamp?
    }

    mutating func willRead() { readers += 1 }

    /// Follows each `willRead`.
    /// - Parameter pending: what was read, by the time it is due; empty where reading failed.
    mutating func didRead(_ pending: [UploadEnding], at now: Timestamp) -> Turn {
        var turn = Turn()
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
