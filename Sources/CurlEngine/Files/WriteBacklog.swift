/// Bytes on their way to one writer, and the transfers of a crowd that wait until there are fewer. What a thousand
/// sockets bring at one moment stays in the sockets.
struct WriteBacklog<Waiter> {
    /// With more bytes than this, a crowd reads no further; with half of them, some transfers continue.
    static var bound: Int { 4 << 20 }
    /// How many continue at a time, first come, first served. Each takes a buffer, so all of them would only wait again.
    static var turn: Int { 32 }

    var bytes = 0
    private(set) var waiters: [Waiter] = []

    /// Whether to read on. A waiter that may not is kept until `wrote` returns it.
    mutating func admits(_ waiter: Waiter) -> Bool {
        guard bytes > Self.bound else { return true }
        waiters.append(waiter)
        return false
    }

    /// The writer is done with this many bytes.
    /// - Returns: those that may ask again.
    mutating func wrote(_ count: Int) -> [Waiter] {
        bytes -= count
        guard bytes <= Self.bound / 2, !waiters.isEmpty else { return [] }
        // Those who ask may be over. No write follows the last one, so it wakes all who wait.
        let count = bytes == 0 ? waiters.count : min(Self.turn, waiters.count)
        defer { waiters.removeFirst(count) }
        return Array(waiters.prefix(count))
    }
}
