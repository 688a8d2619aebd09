/// Decides when the bytes of one part file are made durable. A pure value: every time is an argument, in nanoseconds of
/// the monotonic clock. `unsynced` counts the bytes that are written but not durable.
struct CheckpointPace: Sendable {
    enum Due: Sendable {
        case nothing
        /// The store learns about the file, of which nothing new is durable yet.
        case announcement
        case sync
    }

    /// The most bytes of a running download that die with the daemon, as docs/reliability.md promises: those on their way
    /// to the file (`BufferPool`), and those in a file that the store does not know (`PartSink`).
    static let mostLost: Int64 = 1 << 20

    static let interval: Int64 = 1_000_000_000
    static let bytes: Int64 = 64 << 20
    /// With more bytes that are not durable, reading stops until a checkpoint is done: the next one then takes no
    /// longer.
    static let unsyncedBytes: Int64 = 2 * bytes
    /// If a checkpoint is later than this, reading stops until it is done.
    static let patience: Int64 = 1_800_000_000
    static let announceBytes: Int64 = 256 << 10
    static let announceDelay: Int64 = 100_000_000

    private let began: Int64
    private var isAnnounced = false
    private(set) var isSyncing = false
    /// When the last sync or announcement began.
    private var lastBegan: Int64
    /// When the oldest byte that is not durable was written.
    private var oldestUnsynced: Int64?

    init(at now: Int64) {
        began = now
        lastBegan = now
    }

    mutating func wrote(at now: Int64) {
        if oldestUnsynced == nil { oldestUnsynced = now }
    }

    /// Returns the step that is due, and counts it as begun.
    /// - Parameter isCrowded: rounds sync the files that are due by time.
    mutating func step(unsynced: Int64, at now: Int64, isCrowded: Bool) -> Due {
        guard unsynced > 0, !isSyncing else { return .nothing }
        if !isAnnounced, unsynced >= Self.announceBytes || now - began >= Self.announceDelay {
            isAnnounced = true
            lastBegan = now
            return .announcement
        }
        guard unsynced >= Self.bytes || !isCrowded && now - lastBegan >= Self.interval else { return .nothing }
        begin(at: now)
        return .sync
    }

    /// Begins a sync for a round, or for the end. Returns false if there is nothing to sync, or a sync is under way.
    mutating func join(unsynced: Int64, at now: Int64) -> Bool {
        guard unsynced > 0, !isSyncing else { return false }
        begin(at: now)
        return true
    }

    private mutating func begin(at now: Int64) {
        isSyncing = true
        lastBegan = now
    }

    /// Everything that was written when the sync began is durable.
    /// - Parameter began: when the sync began: no remaining byte was written earlier.
    mutating func synced(began: Int64, unsynced: Int64) {
        isSyncing = false
        isAnnounced = true
        oldestUnsynced = unsynced > 0 ? began : nil
    }

    mutating func failed() { isSyncing = false }

    /// Whether so many bytes are not durable, or for so long, that nothing more should be read.
    func isLate(unsynced: Int64, at now: Int64) -> Bool {
        unsynced > Self.unsyncedBytes || unsynced > 0 && oldestUnsynced.map { now - $0 > Self.patience } ?? false
    }
}
