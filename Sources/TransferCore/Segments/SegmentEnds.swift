import TransferModel

/// Names a segment within one attempt; never used again in it.
package typealias SegmentID = Int

/// What a plan needs to know and change of the segments that run: whoever fetches them agrees with it on their ends.
package protocol SegmentEnds {
    /// Bytes before this offset are the segment's for good: fetched, or about to be.
    func position(of segment: SegmentID) -> ByteCount
    /// Moves the end down to `end`, or as far as what is taken already allows.
    /// - Returns: the end that holds from now on.
    func shrink(_ segment: SegmentID, to end: ByteCount) -> ByteCount
    /// Moves the end up. False if the segment had ended before.
    func extend(_ segment: SegmentID, to end: ByteCount) -> Bool
}
