/// What the server does with requests. The server does not know their meaning.
package protocol RequestHandler: Sendable {
    /// Answers one request. Requests of one connection begin in order, up to the first suspension.
    func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer
    /// Tells whether requests of a connection may begin now. It is called before each request, and returns at once. If
    /// it returns false, requests wait in order until the handler calls the connection's `goOn`, which it does once for
    /// each false.
    func isReady(for connection: RPCConnection) -> Bool
    /// Called once when a client has connected, before its first request.
    func opened(_ connection: RPCConnection)
    /// Called once when the connection is gone.
    func closed(_ connection: RPCConnection)
}

extension RequestHandler {
    /// Always ready by default: few handlers must look up their clients.
    package func isReady(for connection: RPCConnection) -> Bool { true }

    /// Does nothing by default: few handlers count their clients.
    package func opened(_ connection: RPCConnection) {}
}

/// The answer to one request.
package struct RPCAnswer: Sendable {
    /// The JSON text of the result, or the error.
    package var result: Result<[UInt8], RPCError>
    /// Runs after the answer has been queued, for what must reach the client after it.
    package var afterwards: (@Sendable () -> Void)?

    package init(_ result: Result<[UInt8], RPCError>, afterwards: (@Sendable () -> Void)? = nil) {
        self.result = result
        self.afterwards = afterwards
    }
}
