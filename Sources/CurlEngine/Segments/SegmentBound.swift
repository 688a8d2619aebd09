import Threading

/// Where a segment's bytes end. The exchange that fetches them and the plan that may move the end agree here, so that
/// no byte is fetched twice and none is forgotten.
package final class SegmentBound: Sendable {
    private struct State {
        /// Bytes before this belong to the exchange for good.
        var claimed: Int64
        var end: Int64
        var isClosed = false
    }

    /// Bytes claimed beyond what is needed at once, so that the lock is not taken for each chunk.
    static let lookahead: Int64 = 64 << 10
    private let state: Guarded<State>

    package init(start: Int64, end: Int64) { state = Guarded(State(claimed: start, end: end)) }

    // MARK: The exchange's side

    /// The answer's first byte goes to `offset`.
    package func begin(at offset: Int64) { state.withLock { $0.claimed = offset } }

    /// How far bytes may be taken, at most slightly beyond `wanted`. If the result is less than `wanted`, it is the
    /// final end of the segment.
    package func claim(_ wanted: Int64) -> Int64 {
        state.withLock { state in
            if state.end < wanted { state.isClosed = true }
            state.claimed = max(state.claimed, min(state.end, wanted + Self.lookahead))
            return state.claimed
        }
    }

    /// Whether the segment ends at or before `offset`; the end then no longer moves.
    package func isOver(at offset: Int64) -> Bool {
        state.withLock { state in
            guard offset >= state.end else { return false }
            state.isClosed = true
            return true
        }
    }

    /// The exchange takes no more bytes.
    package func close() { state.withLock { $0.isClosed = true } }

    // MARK: The plan's side

    package var position: Int64 { state.withLock { $0.claimed } }
    package var end: Int64 { state.withLock { $0.end } }

    /// Moves the end down to `wanted`, or as far as the claimed bytes allow.
    /// - Returns: the end that applies from now on.
    package func shrink(to wanted: Int64) -> Int64 {
        state.withLock { state in
            if !state.isClosed { state.end = max(state.claimed, min(state.end, wanted)) }
            return state.end
        }
    }

    /// Moves the end up. Returns false if the exchange takes no more bytes.
    package func extend(to wanted: Int64) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.end = max(state.end, wanted)
            return true
        }
    }
}
