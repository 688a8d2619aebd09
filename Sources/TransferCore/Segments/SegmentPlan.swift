import TransferModel

/// Decides which byte ranges to fetch next, and over how many connections; never touches the network.
///
/// At any time, every byte of the file is in exactly one of three places: held, in one running segment, or in a gap
/// that no connection fetches yet. Times are milliseconds on a monotonic clock.
package struct SegmentPlan: Sendable {
    package struct Running: Sendable, Hashable {
        package var range: ByteRange
        /// Where the answer that it reads ends: the segment's own end may be moved up to here.
        var reach: ByteCount
    }

    package struct Opened: Sendable, Hashable {
        package var id: SegmentID
        package var range: ByteRange
    }

    package let total: ByteCount
    package private(set) var held: ByteRangeSet
    package private(set) var running: [SegmentID: Running] = [:]
    package private(set) var pace: ConnectionPace
    private var nextID: SegmentID
    private let began: Int64
    private let heldAtFirst: ByteCount
    /// Bytes per millisecond on one connection, as last measured.
    private var rate = 0.0

    /// On fast connections, a segment smaller than this is not worth a request of its own.
    package static let largestPiece = ByteCount.mebibytes(1)
    /// On slow connections, smaller segments are used, so that the last ones do not end long after the others.
    package static let smallestPiece = ByteCount.kibibytes(128)
    private static let pieceTime = 500.0
    private static let alignment: Int64 = 4096

    /// - Parameter firstID: higher than every id used before in this attempt.
    package init(
        total: ByteCount, held: ByteRangeSet, policy: ConnectionPolicy, firstID: SegmentID = 0, at now: Int64
    ) {
        self.total = total
        self.held = held
        pace = ConnectionPace(policy, at: now)
        nextID = firstID
        began = now
        heldAtFirst = held.count
    }

    package var isComplete: Bool { running.isEmpty && held.covers(total) }

    /// Ranges that are neither held nor running, in order.
    package var gaps: [ByteRange] {
        var taken = held
        for segment in running.values { taken.insert(segment.range) }
        return taken.gaps(upTo: total)
    }

    // MARK: What happened

    /// An exchange that began before the plan existed fetches from `start` to the end of the file.
    package mutating func adopt(_ id: SegmentID, from start: ByteCount) {
        running[id] = Running(range: ByteRange(start, total), reach: total)
        nextID = max(nextID, id + 1)
    }

    /// The segment ended; everything before `offset` in it is written.
    package mutating func ended(_ id: SegmentID, at offset: ByteCount) {
        guard let segment = running.removeValue(forKey: id) else { return }
        held.insert(ByteRange(segment.range.start, min(offset, segment.range.end)))
    }

    package mutating func accepted(at now: Int64) { pace.accepted(at: now) }

    /// A segment's connection was refused or broke; the segment has already `ended`.
    package mutating func failed(retryAfter: Seconds?, at now: Int64) {
        pace.failed(running.count, retryAfter: retryAfter, at: now)
    }

    /// The server gives no ranges after all.
    package mutating func stopOpening() { pace.stop() }

    /// - Parameter spare: further connections that the host may have.
    package mutating func sampled(spare: Int, at now: Int64, _ ends: some SegmentEnds) {
        let fetched = running.reduce(ByteCount.zero) { sum, segment in
            sum + max(.zero, ends.position(of: segment.key) - segment.value.range.start)
        }
        let received = held.count + fetched
        if now > began, !running.isEmpty {
            rate = Double((received - heldAtFirst).rawValue) / Double(now - began) / Double(running.count)
        }
        pace.sampled(received: received, rest: total - received, running: running.count, spare: spare, at: now)
    }

    // MARK: What next

    /// Segments to begin now, as many as connections are free: gaps first, then parts of the longest running segments.
    /// - Parameter room: connections that servers accept now.
    package mutating func open(_ ends: some SegmentEnds, room: Int = .max) -> [Opened] {
        // One connection is always worth a try, whatever the server said to the others.
        let allowed = running.isEmpty ? max(1, pace.allowed(0)) : pace.allowed(running.count)
        let free = min(allowed - running.count, room)
        var opened: [Opened] = []
        if free > 0 {
            for part in parts(for: free, ends) {
                opened += open(part, ends)
            }
        }
        lend(ends)
        return opened
    }

    /// A range, and how many connections are to fetch it.
    private struct Part {
        var range: ByteRange
        /// The segment that already fetches it.
        var segment: SegmentID?
        var connections: Int

        func length(with connections: Int) -> ByteCount { ByteCount(range.count.rawValue / Int64(connections)) }
    }

    /// Distributes `free` connections, each to the range with most left per connection.
    private func parts(for free: Int, _ ends: some SegmentEnds) -> [Part] {
        var parts = gaps.map { Part(range: $0, segment: nil, connections: 0) }
        for (id, segment) in running.sorted(by: { $0.key < $1.key }) {
            let rest = ByteRange(max(segment.range.start, ends.position(of: id)), segment.range.end)
            if !rest.isEmpty { parts.append(Part(range: rest, segment: id, connections: 1)) }
        }
        for _ in 0..<free {
            if let gap = parts.firstIndex(where: { $0.connections == 0 }) {
                parts[gap].connections = 1
                continue
            }
            let worthwhile = parts.indices.filter { parts[$0].length(with: parts[$0].connections + 1) >= piece }
            let largest = worthwhile.max {
                parts[$0].length(with: parts[$0].connections) < parts[$1].length(with: parts[$1].connections)
            }
            guard let largest else { break }
            parts[largest].connections += 1
        }
        return parts.filter { $0.connections > ($0.segment == nil ? 0 : 1) }
    }

    private mutating func open(_ part: Part, _ ends: some SegmentEnds) -> [Opened] {
        var cuts = (0...part.connections).map { cut(part, $0) }
        var first = 0
        if let id = part.segment {
            // Bytes that it took in the meantime stay its own.
            let end = ends.shrink(id, to: cuts[1])
            running[id]?.range.end = end
            cuts = cuts.map { max($0, end) }
            first = 1
        }
        return (first..<part.connections).compactMap { index in
            let range = ByteRange(cuts[index], cuts[index + 1])
            guard !range.isEmpty else { return nil }
            defer { nextID += 1 }
            running[nextID] = Running(range: range, reach: range.end)
            return Opened(id: nextID, range: range)
        }
    }

    /// The start of portion `index` of the range.
    private func cut(_ part: Part, _ index: Int) -> ByteCount {
        guard index > 0 else { return part.range.start }
        guard index < part.connections else { return part.range.end }
        let place = part.range.start + ByteCount(part.length(with: part.connections).rawValue * Int64(index))
        return max(part.range.start, ByteCount(place.rawValue / Self.alignment * Self.alignment))
    }

    /// A gap that got no connection is left to the segment before it, if that segment's answer continues into the gap.
    private mutating func lend(_ ends: some SegmentEnds) {
        for gap in gaps {
            guard let (id, segment) = running.first(where: { $0.value.range.end == gap.start }) else { continue }
            let end = min(gap.end, segment.reach)
            guard end > gap.start, ends.extend(id, to: end) else { continue }
            running[id]?.range.end = end
        }
    }

    /// What one connection brings in half a second, within bounds.
    private var piece: ByteCount {
        guard rate > 0 else { return Self.largestPiece }
        return min(Self.largestPiece, max(Self.smallestPiece, ByteCount(Int64(min(rate * Self.pieceTime, 1e12)))))
    }
}

/// Identifies a segment within one attempt; never reused in it.
package typealias SegmentID = Int

/// What a plan must know and change about running segments: the plan and the code that fetches them agree on their
/// ends.
package protocol SegmentEnds {
    /// Bytes before this offset belong to the segment for good: they are fetched, or about to be.
    func position(of segment: SegmentID) -> ByteCount
    /// Moves the end down to `end`, or as far as the bytes already taken allow.
    /// - Returns: the end that applies from now on.
    func shrink(_ segment: SegmentID, to end: ByteCount) -> ByteCount
    /// Moves the end up. Returns false if the segment has already ended.
    func extend(_ segment: SegmentID, to end: ByteCount) -> Bool
}
