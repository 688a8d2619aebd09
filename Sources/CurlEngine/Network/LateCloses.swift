import CCurl
import CLinux
import Glibc

/// Closes sockets that are bound to a device a while after nobody needs them any more.
///
/// The kernel answers a segment that belongs to no socket with a reset, and sends that by the routing table, whatever the
/// closed socket was bound to. So the socket takes what is still on its way, and then its own reset goes by its device.
/// Only for the reactor's thread.
final class LateCloses {
    private var sockets: [(socket: Int32, due: Int64)] = []

    /// As long as a sender needs to see that nothing is read: some round trips. In nanoseconds.
    private static let delay: Int64 = 2_000_000_000
    private static let most = 256

    deinit { closeDue(at: .max) }

    /// When the next one is due, in nanoseconds of the monotonic clock.
    var next: Int64? { sockets.first?.due }

    /// A socket that is bound to no device is closed at once.
    func add(_ socket: Int32, at now: Int64) {
        var device: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(socket, SOL_SOCKET, SO_BINDTOIFINDEX, &device, &length) == 0, device != 0 else {
            close(socket)
            return
        }
        shutdown(socket, Int32(SHUT_WR))
        sockets.append((socket, now + Self.delay))
        if sockets.count > Self.most { close(sockets.removeFirst().socket) }
    }

    func closeDue(at now: Int64) {
        while let first = sockets.first, first.due <= now {
            close(first.socket)
            sockets.removeFirst()
        }
    }
}

/// CURLOPT_CLOSESOCKETFUNCTION(3).
let closeLate: dld_close_callback = { context, socket in
    guard let context else { return close(socket) }
    Unmanaged<LateCloses>.fromOpaque(context).takeUnretainedValue().add(socket, at: dld_monotonic_nanoseconds())
    return 0
}
