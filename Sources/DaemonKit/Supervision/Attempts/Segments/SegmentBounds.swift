import CurlEngine
import Threading
import TransferCore
import TransferModel

/// The ends of the running segments, shared by plan and engine.
final class SegmentBounds: SegmentEnds, Sendable {
    private let bounds = Guarded<[SegmentID: SegmentBound]>([:])

    subscript(id: SegmentID) -> SegmentBound? { bounds.withLock { $0[id] } }
    func isOver(_ id: SegmentID) -> Bool { self[id] == nil }

    func add(_ id: SegmentID, _ range: ByteRange) { add(id, SegmentBound(range)) }

    func add(_ id: SegmentID, _ bound: SegmentBound) { bounds.withLock { $0[id] = bound } }

    func remove(_ id: SegmentID) { bounds.withLock { $0[id] = nil } }

    func position(of segment: SegmentID) -> ByteCount { ByteCount(self[segment]?.position ?? 0) }

    func shrink(_ segment: SegmentID, to end: ByteCount) -> ByteCount {
        self[segment].map { ByteCount($0.shrink(to: end.rawValue)) } ?? end
    }

    func extend(_ segment: SegmentID, to end: ByteCount) -> Bool { self[segment]?.extend(to: end.rawValue) ?? false }
}

extension SegmentBound {
    convenience init(_ range: ByteRange) { self.init(start: range.start.rawValue, end: range.end.rawValue) }
}
