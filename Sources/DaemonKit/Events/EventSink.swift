import JSONRPC

/// Where a subscription's notifications go: one client, seen as narrowly as the feed needs.
package protocol EventSink: AnyObject, Sendable {
    /// Unique among the clients of this process.
    var id: Int { get }
    var isClosed: Bool { get }
    /// Bytes that wait to be sent.
    var queuedBytes: Int { get }
    /// So many wait that no more should be made; `waitForRoom` waits for the end of that.
    var isCrowded: Bool { get }
    /// Queues one line; a client that is too far behind is dropped instead.
    func send(_ pieces: [UInt8]...)
    /// Suspends while much is queued; false if the client is gone.
    func waitForRoom() async -> Bool
    func close()
}

extension RPCConnection: EventSink {}
