import JSONRPC

/// The client that gets a subscription's notifications, reduced to what the feed needs.
package protocol EventSink: AnyObject, Sendable {
    /// Unique among the clients of this process.
    var id: Int { get }
    var isClosed: Bool { get }
    /// The client sends no further requests.
    var isLeaving: Bool { get }
    /// Bytes waiting to be sent.
    var queuedBytes: Int { get }
    /// Tells whether so many bytes wait that the feed should produce no more; see `waitForRoom`.
    var isCrowded: Bool { get }
    /// Queues one line. A client that is too far behind is dropped instead.
    func send(_ pieces: [UInt8]...)
    /// Queues one line that is made while few bytes wait. Such lines stay in order; until they are made, the sink is
    /// crowded. Many more of them may wait than of the lines of `send`.
    func sendLater(_ line: @escaping @Sendable () -> [UInt8])
    /// Suspends while the sink is crowded. Returns false if the client is gone.
    func waitForRoom() async -> Bool
    func close()
}

extension RPCConnection: EventSink {}

extension EventSink {
    package var isLeaving: Bool { isClosed }
    package func sendLater(_ line: @escaping @Sendable () -> [UInt8]) { send(line()) }
}
