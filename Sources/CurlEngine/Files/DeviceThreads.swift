import Threading
import TransferModel

/// The threads that serve one file system: a slow or hanging one delays only its own transfers.
final class DeviceThreads: Sendable {
    enum Write: Sendable {
        case begin(PartSink)
        case bytes(PartSink, Buffer)
        /// Everything before this offset was written by a helper.
        case extend(PartSink, to: Int64)
        case finish(PartSink)
        /// Everything that was posted before is written: many files are to be synced.
        case round(DeviceThreads)
    }

    private static let syncThreads = 4
    private static let readThreads = 2
    private let writer: WorkQueue<Write>
    /// Syncs of single files.
    let syncer: WorkQueue<@Sendable () -> Void>
    /// Reads of files that are being uploaded.
    let reader: WorkQueue<@Sendable () -> Void>
    private let rounds: WorkQueue<SyncRound>
    private let backlog: Guarded<WriteBacklog<PartSink>>
    let round: SyncRound

    /// - Parameter inPlace: jobs run on the thread that posts them, without threads of their own.
    init(device: UInt64, ledger: SinkLedger = SinkLedger(), inPlace: Bool = false) {
        func threads(_ count: Int) -> Int { inPlace ? 0 : count }
        round = SyncRound(ledger: ledger)
        let backlog = Guarded(WriteBacklog<PartSink>())
        self.backlog = backlog
        writer = WorkQueue(name: "dld-write", threads: threads(1)) { job in
            switch job {
            case .begin(let sink): sink.begin()
            case .bytes(let sink, let buffer):
                let count = buffer.count
                sink.write(buffer)
                for waiting in backlog.withLock({ $0.wrote(count) }) { waiting.onChange() }
            case .extend(let sink, let offset): sink.extended(to: offset)
            case .finish(let sink): sink.end()
            case .round(let threads): threads.rounds.post(threads.round)
            }
        }
        syncer = WorkQueue(name: "dld-sync", threads: threads(Self.syncThreads)) { $0() }
        rounds = WorkQueue(name: "dld-round", threads: threads(1)) { $0.synchronize() }
        reader = WorkQueue(name: "dld-read", threads: threads(Self.readThreads)) { $0() }
    }

    func post(_ job: Write) {
        if case .bytes(_, let buffer) = job { backlog.withLock { $0.bytes += buffer.count } }
        writer.post(job)
    }
    /// Whether a transfer of a crowd may take another buffer; if not, the sink's `onChange` says when to ask again.
    func admits(_ sink: PartSink) -> Bool { backlog.withLock { $0.admits(sink) } }
    /// Syncs everything posted so far, of all files, once it is written; does nothing while a round lasts.
    func beginRound() { if round.begin() { writer.post(.round(self)) } }

    func close() {
        writer.close()
        syncer.close()
        reader.close()
        rounds.close()
    }
}

/// The threads of each file system, by device number; made when its first part file arrives.
final class Devices: Sendable {
    private let devices = Guarded<[UInt64: DeviceThreads]>([:])
    private let ledger: SinkLedger
    private let inPlace: Bool

    init(ledger: SinkLedger, inPlace: Bool) {
        self.ledger = ledger
        self.inPlace = inPlace
    }

    func threads(for device: UInt64) -> DeviceThreads {
        devices.withLock { devices in
            if let threads = devices[device] { return threads }
            let threads = DeviceThreads(device: device, ledger: ledger, inPlace: inPlace)
            devices[device] = threads
            return threads
        }
    }

    func beginRounds() {
        for threads in devices.withLock({ Array($0.values) }) { threads.beginRound() }
    }

    func close() {
        for threads in devices.withLock({ Array($0.values) }) { threads.close() }
    }
}
