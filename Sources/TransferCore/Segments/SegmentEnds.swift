import TransferModel

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
