import Glibc
import TransferModel

/// Messages to and from a browser: a length of 32 bits in the order of this machine, then JSON. Nothing else may be
/// written to the output.
struct NativeMessages {
    enum Incoming: Hashable {
        case message([UInt8])
        /// It was read and dropped.
        case tooLong(Int)
        /// The input ended within it.
        case cut
        case end
    }

    /// The longest that browsers take.
    static let longestAnswer = 1 << 20
    static let longestMessage = 4 << 20

    var input = STDIN_FILENO
    var output = STDOUT_FILENO

    /// Waits for the next message.
    func next() -> Incoming {
        let head = read(4)
        if head.isEmpty { return .end }
        guard head.count == 4 else { return .cut }
        let length = Int(head.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) })
        if length > Self.longestMessage {
            var left = length
            while left > 0, case let piece = read(min(left, 1 << 16)), !piece.isEmpty { left -= piece.count }
            return .tooLong(length)
        }
        let message = read(length)
        return message.count == length ? .message(message) : .cut
    }

    /// Sends a message. If the browser has closed its end, nothing happens.
    func send(_ value: JSONValue) {
        let text = JSONCoding.encode(value)
        guard text.count <= Self.longestAnswer else { return }
        var rest = withUnsafeBytes(of: UInt32(text.count)) { Array($0) + text }[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                Self.wait(output, POLLOUT)
            } else if errno != EINTR {
                return
            }
        }
    }

    /// As many bytes, or fewer if the input ends.
    private func read(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let more = bytes.withUnsafeMutableBytes {
                Glibc.read(input, $0.baseAddress.map { $0 + filled }, count - filled)
            }
            if more > 0 {
                filled += more
            } else if more < 0, errno == EAGAIN {
                Self.wait(input, POLLIN)
            } else if more == 0 || errno != EINTR {
                break
            }
        }
        return Array(bytes.prefix(filled))
    }

    private static func wait(_ descriptor: Int32, _ events: Int32) {
        var watched = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        _ = poll(&watched, 1, -1)
    }
}
