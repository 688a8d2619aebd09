import Glibc

/// Tells whether the other end of a connection within this machine is still there. While the socket is not read, it
/// cannot tell, because the end comes after all sent bytes. Each check takes milliseconds of processor time, so check
/// rarely.
enum LoopbackPeer {
    static func isOpen(of socket: Int32) -> Bool {
        // An entry may be skipped while other entries come and go.
        (0..<8).contains { _ in isListed(socket) }
    }

    /// Tells whether proc_net_tcp(5) shows the other end as established.
    private static func isListed(_ socket: Int32) -> Bool {
        guard let here = address(socket, getsockname), let there = address(socket, getpeername),
            let table = try? Files.text("/proc/net/tcp")
        else { return false }
        return strstr(table, " \(there) \(here) 01 ") != nil
    }

    /// An address in the form of that table: four bytes as one number in the machine's byte order, and the port.
    private static func address(
        _ socket: Int32, _ get: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> String? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { get(socket, $0, &length) == 0 }
        }
        guard isKnown else { return nil }
        return "\(hex(address.sin_addr.s_addr, 8)):\(hex(UInt32(UInt16(bigEndian: address.sin_port)), 4))"
    }

    private static func hex(_ number: UInt32, _ width: Int) -> String {
        let digits = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: width - digits.count) + digits
    }
}
