import Glibc
import TransferCore

/// The network device that the member `interface` means now.
package struct NetworkInterface: Hashable, Sendable {
    /// The kernel's number. A device that goes away and comes back has another one.
    let index: UInt32
    /// The address that connections come from; nil: the kernel chooses.
    let address: String?

    /// Asks the kernel (getifaddrs(3)).
    /// - Returns: nil if no device with this name or address is up, with its carrier and an address beyond link-local
    ///   scope; or if the kernel cannot be asked.
    package init?(_ name: String) {
        guard let choice = InterfaceChoice(name), let found = Self.index(of: choice) else { return nil }
        index = found
        if case .address(let text) = choice { address = text } else { address = nil }
    }

    private static func index(of choice: InterfaceChoice) -> UInt32? {
        for address in DeviceAddress.all() ?? [] where address.isRunning {
            let isChosen =
                switch choice {
                case .device(let name): address.device == name && !address.isLinkLocal
                case .address(let wanted): address.text == wanted
                }
            // 0: the device has gone in the meantime.
            if isChosen, case let index = if_nametoindex(address.device), index > 0 { return index }
        }
        return nil
    }
}

/// An IPv4 or IPv6 address of a network device of this machine.
package struct DeviceAddress: Sendable {
    package let device: String
    /// In network byte order.
    package let bytes: [UInt8]
    private let flags: UInt32

    /// Asks the kernel (getifaddrs(3)); nil if that fails.
    package static func all() -> [DeviceAddress]? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        guard let first = list else { return [] }
        return sequence(first: first) { $0.pointee.ifa_next }.map(\.pointee).compactMap { entry in
            // The label of an address may follow the name (`eth0:1`).
            guard let address = entry.ifa_addr,
                let device = String(cString: entry.ifa_name).split(separator: ":").first,
                case let bytes = bytes(of: address), !bytes.isEmpty
            else { return nil }
            return DeviceAddress(device: String(device), bytes: bytes, flags: entry.ifa_flags)
        }
    }

    package var hasCarrier: Bool { flags & UInt32(IFF_RUNNING) != 0 }
    /// The device is up and has its carrier.
    package var isRunning: Bool { flags & UInt32(IFF_UP) != 0 && hasCarrier }
    package var isLoopback: Bool { flags & UInt32(IFF_LOOPBACK) != 0 }
    /// fe80::/10.
    package var isLinkLocal: Bool { bytes.count == 16 && bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80 }
    /// As inet_ntop(3) writes it.
    var text: String? {
        var written = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &written, socklen_t(written.count)) != nil
        else { return nil }
        return String(decoding: written.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The address without port and scope; empty for other families.
    package static func bytes(of address: UnsafePointer<sockaddr>) -> [UInt8] {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin6_addr) { Array($0) }
            }
        default: []
        }
    }
}
