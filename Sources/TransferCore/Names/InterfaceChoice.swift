import Glibc
import TransferModel

/// The member `interface`: the network device that transfers are bound to.
package enum InterfaceChoice: Hashable, Sendable {
    case device(String)
    /// The device that has this IPv4 or IPv6 address, and the address itself.
    case address(String)

    /// What is accepted, for error messages.
    package static let accepted = "give the name of a network device, such as eth0 or if!eth0, or an IP address"

    /// nil if the text is neither an address nor a possible name of a device (netdevice(7): at most 15 bytes).
    package init?(_ text: String) {
        if let address = Self.canonicalAddress(text) {
            self = .address(address)
            return
        }
        let name = text.hasPrefix("if!") ? String(text.dropFirst(3)) : text
        let isName = (1..<Int(IFNAMSIZ)).contains(name.utf8.count) && name != "." && name != ".."
        guard isName, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"/:!%".utf8.contains($0) }) else { return nil }
        self = .device(name)
    }

    /// The address as inet_ntop(3) writes it.
    package static func canonicalAddress(_ text: String) -> String? {
        var bytes = in6_addr()
        var written = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        for family in [AF_INET, AF_INET6] where inet_pton(family, text, &bytes) == 1 {
            guard inet_ntop(family, &bytes, &written, socklen_t(written.count)) != nil else { return nil }
            return String(decoding: written.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return nil
    }
}

extension TransferError {
    private static let interfaceMember = "interface"

    /// The device that `interface` names is absent or down.
    package static func noInterface(_ name: String) -> TransferError {
        TransferError(
            .networkConnect,
            "No network device that is up is or has \"\(name)\" (interface); waiting for it. ip address lists the devices.",
            retryable: true, details: [interfaceMember: .string(name)])
    }

    /// A helper makes its own connections, which cannot be bound.
    package static func unboundHelper(_ scheme: String) -> TransferError {
        TransferError(
            .unsupported,
            "The helper for \(scheme) makes its own connections, which cannot be bound; leave out interface, also in the session.",
            details: ["field": .string(interfaceMember), "scheme": .string(scheme)])
    }

    /// The task waits for the device that it is bound to.
    var isOfInterface: Bool { code == .networkConnect && details[Self.interfaceMember] != nil }
}
