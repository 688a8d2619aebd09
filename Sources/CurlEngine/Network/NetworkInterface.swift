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
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            // 0: the device has gone in the meantime.
            if let name = entry.device(of: choice), case let index = if_nametoindex(name), index > 0 { return index }
            next = entry.ifa_next
        }
        return nil
    }
}

extension ifaddrs {
    /// The name of the device, if it is up and is or has what was chosen.
    fileprivate func device(of choice: InterfaceChoice) -> String? {
        let wanted = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
        // The label of an address may follow the name (`eth0:1`).
        guard ifa_flags & wanted == wanted, let address = ifa_addr,
            let device = String(cString: ifa_name).split(separator: ":").first.map(String.init)
        else { return nil }
        var (host, length): ([CChar], Int) = ([CChar](repeating: 0, count: Int(NI_MAXHOST)), 0)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: length = MemoryLayout<sockaddr_in>.size
        case AF_INET6: length = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        guard getnameinfo(address, socklen_t(length), &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        let text = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // After a percent sign, a link-local address names its device.
        let parts = text.split(separator: "%")
        let isChosen =
            switch choice {
            case .device(let name): device == name && parts.count == 1
            case .address(let wanted): parts.first.map(String.init) == wanted
            }
        return isChosen ? device : nil
    }
}
