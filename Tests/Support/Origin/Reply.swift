import Glibc
import Threading

/// The socket of one answer. Behaviours write whatever they like into it.
package final class Reply {
    private let socket: Int32
    private let note: (Int, Int) -> Void
    private let isStopping: () -> Bool
    /// The connection is closed after this answer.
    package var closes = false
    /// In bytes per second; nil for no limit.
    package var rate: Int?
    /// After this many body bytes, the rest waits until the gate is open.
    package var pause: (bytes: Int, gate: Guarded<Bool>)?

    init(socket: Int32, isStopping: @escaping () -> Bool, note: @escaping (_ status: Int, _ bytes: Int) -> Void) {
        self.socket = socket
        self.note = note
        self.isStopping = isStopping
    }

    package struct Gone: Error {
        package init() {}
    }

    package func head(
        _ status: Int, _ reason: String = "Whatever", _ headers: [(name: String, value: String)] = []
    ) throws {
        note(status, 0)
        var text = "HTTP/1.1 \(status) \(reason)\r\n"
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        try raw(Array((text + "\r\n").utf8)[...])
    }

    /// Sends body bytes and counts them.
    package func body(_ bytes: ArraySlice<UInt8>) throws {
        guard let (count, gate) = pause else { return try flow(bytes) }
        pause = nil
        try flow(bytes.prefix(count))
        while !gate.withLock({ $0 }) { try waitForPeer() }
        try flow(bytes.dropFirst(count))
    }

    private func flow(_ bytes: ArraySlice<UInt8>) throws {
        guard let rate else {
            var rest = bytes
            while !rest.isEmpty {
                let piece = rest.prefix(1 << 18)
                try raw(piece)
                note(0, piece.count)
                rest = rest.dropFirst(piece.count)
            }
            return
        }
        let start = ContinuousClock.now
        var sent = 0
        // Pieces for a fiftieth of a second, but never more than the socket takes at once.
        let size = max(1, min(rate / 50, 1 << 16))
        while sent < bytes.count {
            let piece = bytes.dropFirst(sent).prefix(size)
            try raw(piece)
            note(0, piece.count)
            sent += piece.count
            let due = start + .seconds(Double(sent) / Double(rate))
            while ContinuousClock.now < due {
                if isStopping() { throw Gone() }
                usleep(2000)
            }
        }
    }

    package func chunk(_ bytes: ArraySlice<UInt8>) throws {
        try raw(Array((String(bytes.count, radix: 16) + "\r\n").utf8)[...])
        try body(bytes)
        try raw(Array("\r\n".utf8)[...])
    }

    /// Sends anything else, without counting it.
    package func raw(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN, !isStopping() { continue }
            guard count > 0 else { throw Gone() }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends nothing until the peer goes or the origin stops.
    package func beSilent() throws {
        while true { try waitForPeer() }
    }

    /// Waits a moment.
    /// - Throws: `Gone` if the peer has gone or the origin stops.
    private func waitForPeer() throws {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        guard count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)), !isStopping() else { throw Gone() }
        usleep(5000)
    }

    /// Resets the connection instead of closing it.
    package func reset() throws {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        throw Gone()
    }
}
