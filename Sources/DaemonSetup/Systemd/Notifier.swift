import FileKit
import Glibc

/// Reports the daemon's state to the service manager, as sd_notify(3) does, without libsystemd.
package final class Notifier: Sendable {
    private let socket: DatagramSocket?

    /// - Parameter environment: the process's environment. NOTIFY_SOCKET names the manager's socket. Without it,
    ///   nothing is sent.
    package init(environment: [String: String]) {
        socket = environment["NOTIFY_SOCKET"].flatMap { DatagramSocket($0) }
    }

    /// Whether there is a manager that listens.
    package var isConnected: Bool { socket != nil }

    /// Reports that the start is complete and clients are served.
    package func ready(status: String) { send(["READY=1", "STATUS=\(status)", "MAINPID=\(getpid())"]) }

    package func status(_ text: String) { send(["STATUS=\(text)"]) }

    /// Reports that the configuration is being read again, until `ready`. The time distinguishes one reload from the
    /// next.
    package func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        send(["RELOADING=1", "MONOTONIC_USEC=\(Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)"])
    }

    package func stopping(status: String) { send(["STOPPING=1", "STATUS=\(status)"]) }

    package func watchdog() { send(["WATCHDOG=1"]) }

    /// Replaces line breaks, because a line break in a value would begin another assignment.
    private func send(_ assignments: [String]) {
        let lines = assignments.map { $0.split(whereSeparator: \.isNewline).joined(separator: " ") }
        socket?.send(Array(lines.joined(separator: "\n").utf8), waits: false)
    }
}

/// Sends datagrams to one address, of the service manager or the journal.
final class DatagramSocket: Sendable {
    private let descriptor: Int32
    private let address: UnixAddress

    /// nil if the text is not an address, or if no socket can be created.
    init?(_ address: String) {
        guard let address = UnixAddress(address) else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.address = address
    }

    deinit { close(descriptor) }

    /// - Parameter waits: false if a receiver that does not read misses the message.
    /// - Returns: whether it was accepted.
    @discardableResult
    func send(_ message: [UInt8], waits: Bool) -> Bool {
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        return address.withSocketAddress { pointer, length in
            retrying { sendto(descriptor, message, message.count, flags, pointer, length) }.result == message.count
        }
    }
}

/// A socket address of unix(7).
struct UnixAddress: Hashable, Sendable {
    private let bytes: [UInt8]
    private static let capacity = 108

    /// - Parameter text: an absolute path, or `@name` in the abstract namespace. nil for any other text, and if it is
    ///   too long.
    init?(_ text: String) {
        var bytes = Array(text.utf8)
        guard bytes.count > 1, !bytes.contains(0) else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "@"):
            bytes[0] = 0
            guard bytes.count <= Self.capacity else { return nil }
        case UInt8(ascii: "/"):
            // The length of a path includes its terminating NUL.
            bytes.append(0)
            guard bytes.count <= Self.capacity else { return nil }
        default: return nil
        }
        self.bytes = bytes
    }

    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
