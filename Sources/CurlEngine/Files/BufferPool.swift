import Glibc
import Threading

/// Bytes on their way from libcurl to a file. They have one owner at a time: the reactor fills them, then a writer
/// empties them.
package final class Buffer: @unchecked Sendable {
    let bytes: UnsafeMutableRawPointer
    let capacity: Int
    package internal(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        // A page of its own would double the memory of a tiny buffer.
        bytes = .allocate(byteCount: capacity, alignment: capacity < BufferPool.smallSize ? 16 : 4096)
    }

    deinit { bytes.deallocate() }

    var room: Int { capacity - count }

    package func append(_ source: UnsafeRawPointer, _ size: Int) {
        (bytes + count).copyMemory(from: source, byteCount: size)
        count += size
    }
}

/// Bounds the memory that bodies take before they reach their files, and saves an allocation per chunk.
final class BufferPool: Sendable {
    /// Scraps and tiny ones serve slow transfers, of which there may be thousands; large ones serve fast transfers.
    enum Size: Int, CaseIterable, Comparable, Sendable {
        case scrap, tiny, small, large

        /// The smallest size that holds this many bytes, or the largest there is.
        init(holding count: Int) { self = Self.allCases.first { $0.bytes >= count } ?? .large }

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        var bytes: Int {
            switch self {
            case .scrap: BufferPool.scrapSize
            case .tiny: BufferPool.tinySize
            case .small: BufferPool.smallSize
            case .large: BufferPool.largeSize
            }
        }

        /// Buffers that are kept for the next `acquire`.
        fileprivate var kept: Int {
            switch self {
            case .scrap: 256
            case .tiny: 128
            case .small: 128
            case .large: 16
            }
        }

        /// The size to use next if this one fills up, and if it stays nearly empty.
        var larger: Size { Size(rawValue: rawValue + 1) ?? .large }
        var smaller: Size { Size(rawValue: rawValue - 1) ?? .scrap }
    }

    static let scrapSize = 2 << 10
    static let tinySize = 8 << 10
    static let smallSize = 64 << 10
    /// The buffer that fills and those that the writer has die with the daemon.
    static let largeSize = Int(CheckpointPace.mostLost) / (1 + PartSink.buffersInFlight)

    private struct State {
        /// Free buffers, by size.
        var free = [[Buffer]](repeating: [], count: Size.allCases.count)
        var lent = 0
        var starved = false
        var onFreed: (@Sendable () -> Void)?

        mutating func take(_ size: Size) -> Buffer {
            lent += size.bytes
            return free[size.rawValue].popLast() ?? Buffer(capacity: size.bytes)
        }
    }
    private let state = Guarded(State())
    private let bound: Int

    /// At most `bound` bytes are lent at once.
    init(bound: Int) { self.bound = bound }

    /// An empty buffer of a size; a small one if no large one is available, nil if the bound is reached.
    func acquire(_ size: Size) -> Buffer? {
        state.withLock { state in
            let wanted = size == .large && state.lent + Self.largeSize > bound ? .small : size
            guard state.lent + wanted.bytes <= bound else {
                state.starved = true
                return nil
            }
            return state.take(wanted)
        }
    }

    /// Takes a buffer back.
    func release(_ buffer: Buffer?) {
        guard let buffer else { return }
        buffer.count = 0
        let freed = state.withLock { state in
            state.lent -= buffer.capacity
            if let size = Size.allCases.first(where: { $0.bytes == buffer.capacity }),
                state.free[size.rawValue].count < size.kept
            {
                state.free[size.rawValue].append(buffer)
            }
            defer { state.starved = false }
            return state.starved ? state.onFreed : nil
        }
        freed?()
    }

    /// - Parameter action: called, on any thread, when a buffer comes back after one was refused: somebody waits.
    func onFreed(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onFreed = action } }

    var lentBytes: Int { state.withLock { $0.lent } }
}
