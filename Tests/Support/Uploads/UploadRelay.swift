import Glibc
import Threading

/// A relay at 127.0.0.2 in front of a real server of this machine, at the same ports. It passes uploads on no further
/// than a gate, because real servers read everything that comes.
package final class UploadRelay: UploadHolder {
    package static let host = "127.0.0.2"
    /// What a connection may always send: greeting and login, so that a daemon gets as far as the file.
    private static let greeting = 1 << 14
    /// The most bytes between the relay and the server's file: more than one packet of SFTP.
    private static let window = 1 << 18
    private static let piece = 1 << 16

    /// For two daemons that die at one gate, and for the one after them.
    package let overrun = 3 * (greeting + window + piece)

    private struct State {
        var gate: UploadGate?
        var isStopping = false
    }
    private let state = Guarded(State())

    /// - Parameters:
    ///   - ports: all ports of the server that its clients may connect to.
    ///   - held: returns how many bytes of the upload the server has.
    package init(to ports: [UInt16], held: @escaping @Sendable () -> Int) throws {
        let state = state
        for port in ports {
            let listener = try ListeningSocket(host: Self.host, port: port, isNarrow: true)
            try Threads.start {
                while let client = listener.accept(until: { state.withLock { $0.isStopping } }) {
                    let connection = Connection(client: client, port: port, state: state, held: held)
                    if (try? Threads.start { connection.serve() }) == nil { connection.end() }
                }
            }
        }
    }

    deinit { state.withLock { $0.isStopping = true } }

    package func hold(_ gate: UploadGate) { state.withLock { $0.gate = gate } }
    package func release() { state.withLock { $0.gate = nil } }

    /// One connection. The server's bytes go back unchanged.
    private struct Connection: Sendable {
        let client: Int32
        let port: UInt16
        let state: Guarded<State>
        let held: @Sendable () -> Int

        func end() { close(client) }

        func serve() {
            defer { end() }
            guard let server = try? PlainSocket.connect(to: port) else { return }
            defer { close(server) }
            let back = ConditionLock(false)
            let client = client
            guard
                (try? Threads.start {
                    while let bytes = PlainSocket.receive(from: server, atMost: 1 << 16),
                        PlainSocket.send(bytes, to: client)
                    {}
                    // Also wakes the thread that waits for the client, which may never send anything again.
                    shutdown(client, Int32(SHUT_RDWR))
                    back.withLock { $0 = true }
                    back.broadcast()
                }) != nil
            else { return }
            forward(to: server)
            shutdown(server, Int32(SHUT_WR))
            // A server that does not react to that is given ten seconds; then its socket is closed.
            if back.wait(milliseconds: 10_000, for: { $0 ? true : nil }) == nil {
                shutdown(server, Int32(SHUT_RDWR))
                _ = back.wait { $0 ? true : nil }
            }
        }

        private func forward(to server: Int32) {
            let before = held()
            var forwarded = 0
            while awaitRoom(before: before, forwarded: forwarded),
                let bytes = PlainSocket.receive(from: client, atMost: UploadRelay.piece),
                PlainSocket.send(bytes, to: server)
            {
                forwarded += bytes.count
            }
        }

        /// Returns false if the client is gone, or if the relay must end.
        private func awaitRoom(before: Int, forwarded: Int) -> Bool {
            var turns = 0
            while true {
                let (gate, isStopping) = state.withLock { ($0.gate, $0.isStopping) }
                guard !isStopping else { return false }
                guard let gate, forwarded >= UploadRelay.greeting else { return true }
                let held = held()
                if gate.room(taken: forwarded, held: held) > 0, forwarded - (held - before) < UploadRelay.window {
                    // A client that died before this gate was set must not send any more.
                    return LoopbackPeer.isOpen(of: client)
                }
                usleep(1000)
                turns += 1
                guard !turns.isMultiple(of: 32) || LoopbackPeer.isOpen(of: client) else { return false }
            }
        }
    }
}
