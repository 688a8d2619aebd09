import Threading
import TransferModel

/// The threads that serve one file system: a slow or frozen one delays only its own transfers.
final class DeviceLane: Sendable {
    enum Write: Sendable {
        case begin(PartSink)
        case bytes(PartSink, Buffer)
        case finish(PartSink)
    }

    private static let syncThreads = 4
    private let writer: WorkQueue<Write>
    private let syncer: WorkQueue<PartSink>

    init(device: UInt64) {
        writer = WorkQueue(name: "dld-write", threads: 1) { job in
            switch job {
            case .begin(let sink): sink.begin()
            case .bytes(let sink, let buffer): sink.write(buffer)
            case .finish(let sink): sink.finishWriting()
            }
        }
        syncer = WorkQueue(name: "dld-sync", threads: Self.syncThreads) { $0.synchronize() }
    }

    func post(_ job: Write) { writer.post(job) }
    func sync(_ sink: PartSink) { syncer.post(sink) }

    func close() {
        writer.close()
        syncer.close()
    }
}

/// One lane per device number, made when its first part file comes.
final class DeviceLanes: Sendable {
    private let lanes = Guarded<[UInt64: DeviceLane]>([:])

    func lane(for device: UInt64) -> DeviceLane {
        lanes.withLock { lanes in
            if let lane = lanes[device] { return lane }
            let lane = DeviceLane(device: device)
            lanes[device] = lane
            return lane
        }
    }

    func close() {
        for lane in lanes.withLock({ Array($0.values) }) { lane.close() }
    }
}
