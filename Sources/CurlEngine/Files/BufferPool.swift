import Glibc
import Threading

/// Bytes on their way from libcurl to a file. One owner at a time: the reactor fills it, then a writer empties it.
final class Buffer: @unchecked Sendable {
    let bytes: UnsafeMutableRawPointer
    let capacity: Int
    var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        bytes = .allocate(byteCount: capacity, alignment: 4096)
    }

    deinit { bytes.deallocate() }

    var room: Int { capacity - count }

    func append(_ source: UnsafeRawPointer, _ size: Int) {
        (bytes + count).copyMemory(from: source, byteCount: size)
        count += size
    }
}

/// Bounds the memory that bodies take before they reach their files, and spares an allocation per chunk.
final class BufferPool: Sendable {
    /// Small for slow transfers, of which there may be thousands; large where bytes come fast.
    static let smallSize = 64 << 10
    static let largeSize = 512 << 10
    private static let keptSmall = 128
    private static let keptLarge = 16

    private struct State {
        var small: [Buffer] = []
        var large: [Buffer] = []
        var lent = 0
        var starved = false
    }
    private let state = Guarded(State())
    private let bound: Int

    /// At most `bound` bytes are lent at once.
    init(bound: Int) { self.bound = bound }

    /// An empty buffer; a small one where no large one is free, nil where the bound is reached.
    func acquire(large: Bool) -> Buffer? {
        state.withLock { state in
            if large, state.lent + Self.largeSize <= bound {
                state.lent += Self.largeSize
                return state.large.popLast() ?? Buffer(capacity: Self.largeSize)
            }
            guard state.lent + Self.smallSize <= bound else {
                state.starved = true
                return nil
            }
            state.lent += Self.smallSize
            return state.small.popLast() ?? Buffer(capacity: Self.smallSize)
        }
    }

    /// Takes a buffer back. True where `acquire` had to refuse since: somebody waits.
    func release(_ buffer: Buffer) -> Bool {
        buffer.count = 0
        return state.withLock { state in
            state.lent -= buffer.capacity
            if buffer.capacity == Self.largeSize {
                if state.large.count < Self.keptLarge { state.large.append(buffer) }
            } else if state.small.count < Self.keptSmall {
                state.small.append(buffer)
            }
            defer { state.starved = false }
            return state.starved
        }
    }

    var lentBytes: Int { state.withLock { $0.lent } }
}
