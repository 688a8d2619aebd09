import FileKit
import Glibc
import TransferModel

/// The listening sockets that the service manager opened for this process (sd_listen_fds(3)).
package struct ListenSockets: Sendable {
    package struct Adopted: Hashable, Sendable {
        package let descriptor: Int32
        /// FileDescriptorName= of the socket unit.
        package let name: String
        /// Path that the socket is bound to; nil for an abstract one.
        package let path: String?
    }

    package let sockets: [Adopted]

    private static let firstDescriptor: Int32 = 3

    /// Takes over the descriptors, so that programs started later do not inherit them.
    ///
    /// - Parameters:
    ///   - families: the address families that the program serves.
    ///   - first: the first descriptor; 3 except in tests.
    /// - Throws: `internal` if a descriptor is not a listening stream socket of these families, because the socket unit is
    ///   wrong.
    package init(
        environment: [String: String], families: Set<Int32> = [AF_UNIX], process: Int32 = getpid(),
        first: Int32 = firstDescriptor
    ) throws(TransferError) {
        guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == process,
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0
        else {
            sockets = []
            return
        }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        var adopted: [Adopted] = []
        for index in 0..<min(count, 64) {
            let descriptor = first + index
            try Self.adopt(descriptor, families)
            let name = Int(index) < names.count ? String(names[Int(index)]) : "unknown"
            adopted.append(Adopted(descriptor: descriptor, name: name, path: Self.boundPath(descriptor)))
        }
        sockets = adopted
    }

    /// The variables that programs started by the daemon must not get.
    package static let variables = [
        "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
    ]

    /// Removes them from the process's environment. Call it while the process has only one thread.
    package static func clearEnvironment() { for name in variables { unsetenv(name) } }

    private static func adopt(_ descriptor: Int32, _ families: Set<Int32>) throws(TransferError) {
        let flags = fcntl(descriptor, F_GETFD)
        guard flags >= 0, fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) == 0 else {
            throw fault(descriptor, "is not open")
        }
        guard let family = option(descriptor, SO_DOMAIN), families.contains(family) else {
            throw fault(descriptor, families == [AF_UNIX] ? "is not a Unix socket" : "is not a TCP or Unix socket")
        }
        guard option(descriptor, SO_TYPE) == Int32(SOCK_STREAM.rawValue) else {
            throw fault(descriptor, "is not a stream socket")
        }
        guard option(descriptor, SO_ACCEPTCONN) == 1 else {
            throw fault(descriptor, "does not listen; the socket unit needs Accept=no")
        }
    }

    private static func option(_ descriptor: Int32, _ name: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    private static func boundPath(_ descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard status == 0, Int32(address.sun_family) == AF_UNIX, Int(length) > MemoryLayout<sa_family_t>.size else {
            return nil
        }
        let bytes = withUnsafeBytes(of: &address.sun_path) { Array($0.prefix { $0 != 0 }) }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    private static func fault(_ descriptor: Int32, _ what: String) -> TransferError {
        TransferError(
            .internal,
            "Descriptor \(descriptor) from LISTEN_FDS \(what); give dld one ListenStream= with a path.")
    }
}
