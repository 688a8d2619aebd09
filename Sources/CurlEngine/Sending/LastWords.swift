import Glibc

/// A socket that is used without libcurl. It is closed when no thread uses it any more.
final class BodySocket: Sendable {
    let fileDescriptor: Int32

    init(_ fileDescriptor: Int32) { self.fileDescriptor = fileDescriptor }

    deinit { close(fileDescriptor) }
}

/// Keeps the socket of a request's body open, to read an answer that the server sent before it reset the connection.
/// libcurl fails at the first byte that it cannot send, although the answer may already be in the socket. Bytes that are
/// sent without libcurl go through it too.
final class LastWords {
    /// The most bytes to read: a header and the beginning of a body.
    private static let most = 128 << 10
    let socket: BodySocket

    /// nil if the system provides no more descriptors.
    init?(of socket: Int32) {
        let descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        self.socket = BodySocket(descriptor)
    }

    /// Bytes that have arrived and have not been read; does not wait.
    func read() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.most)
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                recv(
                    socket.fileDescriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done,
                    Int32(MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            done += count
        }
        return Array(bytes.prefix(done))
    }
}

extension Transfer {
    /// Reads the answer that is in the socket of a request which libcurl could not send to its end. Does nothing if
    /// there is none, or libcurl has read some of it.
    func hearLastWords(_ reactor: Reactor) {
        guard let lastWords, parser.isWaiting else { return }
        self.lastWords = nil
        var rest = lastWords.read()[...]
        while !parser.isComplete, let end = rest.firstIndex(of: 10) {
            let line = Array(rest[...end])
            rest = rest[(end + 1)...]
            let taken = line.withUnsafeBytes { bytes in
                bytes.baseAddress.map { headerLine($0, bytes.count, reactor: reactor) } ?? 0
            }
            guard taken == line.count else { return }
        }
        guard case .capture = use, ending == nil else { return }
        // A chunked body would have to be reassembled; the important part is known by now.
        guard parser.values("transfer-encoding").isEmpty else {
            isCaptureTruncated = true
            return
        }
        _ = Array(rest).withUnsafeBytes { bytes in bytes.baseAddress.map { capture($0, bytes.count) } }
    }
}
