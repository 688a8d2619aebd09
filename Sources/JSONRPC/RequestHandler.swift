/// What the server does with requests; it knows nothing of their meaning.
package protocol RequestHandler: Sendable {
    /// Answers one request. Requests of one connection begin in order, up to the first suspension.
    func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer
    /// Whether requests of a connection may begin now; asked before each, and returns at once. Where not, they wait in
    /// order until the handler calls `goOn` of the connection, which it does once for each time it says no.
    func isReady(for connection: RPCConnection) -> Bool
    /// A client has connected; called once, before its first request.
    func opened(_ connection: RPCConnection)
    /// The connection is gone; called once.
    func closed(_ connection: RPCConnection)
}

extension RequestHandler {
    /// Always: few handlers have to find out about their clients.
    package func isReady(for connection: RPCConnection) -> Bool { true }

    /// Nothing: few handlers count their clients.
    package func opened(_ connection: RPCConnection) {}
}

/// The answer to one request.
package struct RPCAnswer: Sendable {
    /// JSON text of the result, or the error.
    package var result: Result<[UInt8], RPCError>
    /// Runs once the answer stands in the connection's queue: what must reach the client after it.
    package var afterwards: (@Sendable () -> Void)?

    package init(_ result: Result<[UInt8], RPCError>, afterwards: (@Sendable () -> Void)? = nil) {
        self.result = result
        self.afterwards = afterwards
    }
}
