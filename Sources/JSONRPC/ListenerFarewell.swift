import Glibc

/// Answers every client that waits at a listening socket which nobody will serve.
///
/// A service manager starts a daemon again as long as a client waits at its socket. A daemon that cannot start empties
/// the queue and tells each client why.
package enum ListenerFarewell {
    /// All clients that can wait at once (the socket's backlog) are told within this time. Later ones find the socket
    /// closed.
    private static let patience = Duration.seconds(1)

    /// Blocks until all clients have closed their ends, but at most a second.
    /// - Returns: how many were told.
    @discardableResult
    package static func refuse(waitingAt listener: Int32, with error: RPCError) -> Int {
        let line = RPCText.answer(id: nil, error: error) + [UInt8(ascii: "\n")]
        _ = fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK)
        var clients: [Int32] = []
        defer { for client in clients { close(client) } }
        while true {
            let client = accept(listener, nil, nil)
            if client < 0, errno == EINTR { continue }
            guard client >= 0 else { break }
            clients.append(client)
            _ = send(client, line, line.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            shutdown(client, Int32(SHUT_WR))
        }
        // Unread bytes from a client would turn the close into a reset, which may overtake the line.
        let deadline = ContinuousClock.now + patience
        for client in clients { readToEnd(client, until: deadline) }
        return clients.count
    }

    private static func readToEnd(_ client: Int32, until deadline: ContinuousClock.Instant) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let left = (deadline - ContinuousClock.now) / Duration.milliseconds(1)
            guard left > 0 else { return }
            var ready = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, Int32(left)) > 0, recv(client, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0
            else { return }
        }
    }
}
