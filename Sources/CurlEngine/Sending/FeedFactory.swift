import Synchronization
import TransferCore

/// Makes feeds with what they all share.
struct FeedFactory: Sendable {
    /// Uploads that are reading files now.
    private final class Load: Sendable {
        let running = Atomic<Int>(0)
    }

    /// Bytes that each of this many uploads has in memory: the more uploads, the less each has, so total memory stays
    /// flat.
    static func piece(of uploads: Int) -> Int {
        switch uploads {
        case ...4: BufferPool.largeSize
        case ...32: BufferPool.smallSize
        default: 16 << 10
        }
    }

    var devices: Devices
    var buffers: BufferPool
    var waker: BufferWaker
    private let load = Load()

    init(_ files: FileSide) {
        devices = files.devices
        buffers = files.buffers
        waker = files.waker
    }

    /// nil if the exchange sends nothing.
    func make(_ exchange: Exchange, source: UploadSource?) -> PayloadFeed? {
        guard let payload = exchange.sentPayload else { return nil }
        let load = self.load
        load.running.add(1, ordering: .relaxed)
        let services = PayloadFeed.Services(
            threads: source.map { devices.threads(for: $0.identity.device) }, buffers: buffers,
            piece: { Self.piece(of: load.running.load(ordering: .relaxed)) },
            onBuffersFreed: { [waker] in waker.wake() },
            onEnd: { load.running.subtract(1, ordering: .relaxed) })
        return PayloadFeed(payload, source: source, services: services)
    }
}

extension Exchange {
    /// The payload that is sent. Methods that define a meaning for content send its length even if it is empty (RFC
    /// 9110 section 8.6).
    var sentPayload: Payload? {
        let sends =
            switch kind {
            case .download, .request: method?.uppercased() != "HEAD"
            case .probe: false
            }
        guard sends else { return nil }
        if payload != .none { return payload }
        let takesContent = ["POST", "PUT", "PATCH"].contains(method?.uppercased())
        return takesContent ? .bytes([]) : nil
    }
}
