import DaemonSetup
import Glibc

/// TCP sockets that are bound, and given to a server that listens.
struct ListeningPorts {
    private(set) var descriptors: [Int32] = []
    private(set) var port = 0

    /// - Parameters:
    ///   - ports: tried in order, each for all addresses; 0 is any free one.
    ///   - skipsMissing: addresses that this machine does not have are left out, if one is left.
    /// - Throws: a sentence for the last port that was tried.
    ///   - option: names another port.
    init(
        _ addresses: [String], ports: [Int], option: String = "--port", skipsMissing: Bool
    ) throws(SetupFailure) {
        var failure = SetupFailure("no port to listen on")
        for port in ports {
            do throws(SetupFailure) {
                try bind(addresses, port, option, skipsMissing)
                return
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Those that the service manager opened.
    init?(adopted: [Int32]) {
        guard let first = adopted.first, let port = Self.port(of: first) else { return nil }
        (descriptors, self.port) = (adopted, port)
    }

    private mutating func bind(
        _ addresses: [String], _ wanted: Int, _ option: String, _ skipsMissing: Bool
    ) throws(SetupFailure) {
        var made: [Int32] = []
        var port = wanted
        for address in addresses {
            let descriptor = Self.bound(address, port)
            if descriptor >= 0 {
                made.append(descriptor)
                // The others get the port that the first one got.
                port = Self.port(of: descriptor) ?? port
                continue
            }
            let code = -descriptor
            if skipsMissing, code == EADDRNOTAVAIL || code == EAFNOSUPPORT { continue }
            made.forEach { _ = close($0) }
            throw SetupFailure(
                "cannot listen on \(address), port \(port): \(String(cString: strerror(code))). Name another one with \(option)."
            )
        }
        guard !made.isEmpty else {
            throw SetupFailure("this machine has none of the addresses \(addresses.joined(separator: ", "))")
        }
        (descriptors, self.port) = (made, port)
    }

    /// - Returns: the descriptor, or a negative errno.
    private static func bound(_ address: String, _ port: Int) -> Int32 {
        var ipv4 = sockaddr_in()
        var ipv6 = sockaddr_in6()
        let isIPv4 = inet_pton(AF_INET, address, &ipv4.sin_addr) == 1
        if !isIPv4, inet_pton(AF_INET6, address, &ipv6.sin6_addr) != 1 { return -EAFNOSUPPORT }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(isIPv4 ? AF_INET : AF_INET6, kind, 0)
        guard descriptor >= 0 else { return -errno }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        // An IPv6 socket takes no IPv4 connections, so that each address is listened on once.
        if !isIPv4 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, 4) }
        let result: Int32
        if isIPv4 {
            ipv4.sin_family = sa_family_t(AF_INET)
            ipv4.sin_port = in_port_t(port).bigEndian
            result = withUnsafeBytes(of: &ipv4) { bindBytes(descriptor, $0) }
        } else {
            ipv6.sin6_family = sa_family_t(AF_INET6)
            ipv6.sin6_port = in_port_t(port).bigEndian
            result = withUnsafeBytes(of: &ipv6) { bindBytes(descriptor, $0) }
        }
        // With SO_REUSEADDR, bind(2) succeeds beside another socket that is bound and does not listen yet; listen(2) does not.
        guard result == 0, listen(descriptor, 128) == 0 else {
            let code = errno
            close(descriptor)
            return -code
        }
        return descriptor
    }

    private static func bindBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard let start = bytes.baseAddress else { return -1 }
        return Glibc.bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }

    private static func port(of descriptor: Int32) -> Int? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard status == 0, [AF_INET, AF_INET6].contains(Int32(address.ss_family)) else { return nil }
        // The port is at the same place in both families.
        return withUnsafeBytes(of: &address) { Int($0[2]) << 8 | Int($0[3]) }
    }
}
