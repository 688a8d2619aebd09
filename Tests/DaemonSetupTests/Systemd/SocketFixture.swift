import Glibc

@testable import DaemonSetup

/// A Unix socket that is bound to an address. It is closed when the test ends.
final class BoundSocket {
    let descriptor: Int32

    init?(_ address: String, type: __socket_type, listening: Bool = false) {
        guard let address = UnixAddress(address) else { return nil }
        let descriptor = socket(AF_UNIX, Int32(type.rawValue), 0)
        self.descriptor = descriptor
        guard descriptor >= 0 else { return nil }
        guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else { return nil }
        if listening, listen(descriptor, 4) != 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Returns the next datagram, or nil if none comes within two seconds.
    func receive() -> String? {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, 2000) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}
