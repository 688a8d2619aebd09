/// How much one client, and all of them together, may ask of the server's memory.
package struct RPCLimits: Sendable {
    /// Longest line, bytes.
    package var line = 8 << 20
    /// A longer line is a long request: one of each user is answered at a time, root excepted.
    package var longLine = 1 << 20
    /// Long requests of all users that are answered at the same time.
    package var longRequests = 4
    /// Most requests in a batch.
    package var batch = 1000
    /// Requests of one connection that are answered at the same time; further ones are not read.
    package var inFlight = 64
    /// Connections at the same time, and those of one user among them.
    package var connections = 1024
    package var connectionsPerUser = 768
    /// Whether root is held to what one user may have too.
    package var limitsRoot = false
    /// Bytes that wait to be sent on one connection; beyond it the client is dropped.
    package var outgoing = 8 << 20
    /// Above this many waiting bytes nothing more is read from the client.
    package var outgoingHighWater = 256 << 10
    /// Bytes of lines that are unfinished or wait on all connections together, beyond the first 64 KiB of each.
    package var unfinishedLines = 256 << 20
    /// Those of one user's connections among them: others must find room for lines of full length.
    package var unfinishedLinesPerUser = 64 << 20

    package init() {}
}
