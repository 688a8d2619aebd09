import Glibc

/// Tells whether the other end of a connection within this machine is still there. The socket itself cannot say so while
/// it is not read: the end comes behind all that was sent. Asking takes milliseconds of the processor, so ask seldom.
enum LoopbackPeer {
    static func isOpen(of socket: Int32) -> Bool {
        // An entry may be passed over while others come and go.
        (0..<8).contains { _ in isListed(socket) }
    }

    /// Whether proc_net_tcp(5) has the other end as established.
    private static func isListed(_ socket: Int32) -> Bool {
        guard let here = address(socket, getsockname), let there = address(socket, getpeername),
            let table = try? Files.text("/proc/net/tcp")
        else { return false }
        return strstr(table, " \(there) \(here) 01 ") != nil
    }

    /// An address as that table has it: four bytes as one number of the machine's order, and the port.
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
