/// How much of the server's memory one client, and all clients together, may use.
package struct RPCLimits: Sendable {
    /// The longest line in bytes.
    package var line = 8 << 20
    /// A line longer than this is a long request. Of each user except root, one is answered at a time.
    package var longLine = 1 << 20
    /// How many long requests are answered at a time, for all users.
    package var longRequests = 4
    /// The most requests in a batch.
    package var batch = 1000
    /// How many requests of one connection are answered at a time. Further ones are not read.
    package var inFlight = 64
    /// The most connections at a time, and how many of them one user may have.
    package var connections = 1024
    package var connectionsPerUser = 768
    /// Tells whether root is limited like other users.
    package var limitsRoot = false
    /// The most bytes that may wait to be sent on one connection. Above this, the client is dropped.
    package var outgoing = 8 << 20
    /// If more bytes than this wait to be sent, nothing is read from the client.
    package var outgoingHighWater = 256 << 10
    /// If more bytes than this wait to be sent to all clients of one user except root, their connections with unread
    /// answers begin no further requests. Above twice as many, their requests are refused, and a connection with many
    /// unread bytes that gets more is dropped.
    package var outgoingPerUser = 64 << 20
    /// The bytes that a line of `sendLater` counts as before it is made.
    package var laterLine = 256
    /// The most bytes of unfinished or waiting lines on all connections together, without the first 64 KiB of each.
    package var unfinishedLines = 256 << 20
    /// How many of them one user's connections may have. Others must find room for lines of full length.
    package var unfinishedLinesPerUser = 64 << 20

    package init() {}
}
