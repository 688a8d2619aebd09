import CLinux
import CurlEngine
import FileKit
import Glibc
import Threading
import TransferModel

/// What the machine's links and addresses allow now.
package struct NetworkState: Hashable, Sendable {
    /// An interface other than the loopback is up and has its carrier and an address beyond link-local scope.
    package var isUp: Bool

    package init(isUp: Bool) { self.isUp = isUp }

    /// Reads the state from the kernel.
    package static func current() -> NetworkState {
        // If the kernel does not answer, transfers are tried rather than held back.
        guard let addresses = DeviceAddress.all() else { return NetworkState(isUp: true) }
        return NetworkState(isUp: addresses.contains { $0.isRunning && !$0.isLoopback && !$0.isLinkLocal })
    }

    /// Tells whether a connection to `host` may succeed now; true in doubt. A loopback host is always reachable, a
    /// literal address if the kernel has a route to it, and a name if any network is up.
    ///
    /// A host that /etc/hosts maps to the loopback is treated like any other name. Ask after a failure, not before the
    /// first attempt.
    package func isReachable(host: String) -> Bool {
        let name = host.lowercased().trimmingBrackets()
        if name.isEmpty || name == "localhost" || name.hasSuffix(".localhost") { return true }
        if let address = SocketAddress(name) { return address.hasRoute }
        return isUp
    }
}

/// Watches the kernel's route messages (rtnetlink(7)). Reports when links, addresses or routes change, and when the
/// configuration of name resolution changes.
///
/// Its own thread waits for both kinds of change. A burst of messages counts as one change.
package final class NetworkMonitor: Sendable {
    /// The state after each change. Only one consumer is allowed. A change that is not consumed yet is replaced by the
    /// next.
    package let changes: AsyncStream<NetworkState>
    /// Yields after each change of the files that configure name resolution. Only one consumer is allowed.
    package let resolverChanges: AsyncStream<Void>
    private let latest: Guarded<NetworkState>
    private let wake: Descriptor?
    private let watcher: NetworkWatcher?

    /// Starts to watch. Without a route socket (a sandbox may forbid it), `state` still reads the current state, but
    /// changes of links are not reported.
    /// - Parameter watches: false if nobody needs reports of changes.
    package convenience init(watches: Bool = true) { self.init(watches: watches, resolver: .ofSystem) }

    init(watches: Bool = true, resolver: ResolverFiles) {
        let (changes, continuation) = AsyncStream.makeStream(
            of: NetworkState.self, bufferingPolicy: .bufferingNewest(1))
        let (names, nameContinuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.changes, resolverChanges) = (changes, names)
        latest = Guarded(NetworkState.current())
        var (reader, writer): (Int32, Int32) = (-1, -1)
        guard watches, dld_pipe(&reader, &writer) == 0 else {
            (wake, watcher) = (nil, nil)
            continuation.finish()
            nameContinuation.finish()
            return
        }
        wake = Descriptor(writer)
        let route = dld_route_socket()
        let watcher = NetworkWatcher(
            route: route >= 0 ? Descriptor(route) : nil, stop: Descriptor(reader), resolver: resolver, latest: latest,
            links: continuation, names: nameContinuation)
        self.watcher = watcher
        if !NamedThread.start("dld-network", { watcher.run() }) { watcher.finish() }
    }

    /// Closing the pipe's end makes the thread exit.
    deinit { watcher?.finish() }

    package var state: NetworkState {
        let fresh = NetworkState.current()
        latest.withLock { $0 = fresh }
        return fresh
    }

    package var isUp: Bool { state.isUp }

    package func isReachable(host: String) -> Bool { state.isReachable(host: host) }
}

private struct NetworkWatcher: Sendable {
    let route: Descriptor?
    let stop: Descriptor
    let resolver: ResolverFiles
    let latest: Guarded<NetworkState>
    let links: AsyncStream<NetworkState>.Continuation
    let names: AsyncStream<Void>.Continuation
    /// The messages of one change (link, address and routes, or a file written in pieces) follow each other within this
    /// time.
    static let settleMilliseconds: Int32 = 100

    func finish() {
        links.finish()
        names.finish()
    }

    func run() {
        var watch = resolver.watch()
        defer { if watch >= 0 { close(watch) } }
        // Read after the watch has begun, so that no change is missed in between.
        var content = resolver.content
        var seen = Change()
        while true {
            let news = wait(watch, timeout: seen.isNone ? -1 : Self.settleMilliseconds)
            if news.isOver { return finish() }
            seen.links = seen.links || news.links
            seen.files = seen.files || news.files
            guard news.isNone, !seen.isNone else { continue }
            if seen.links {
                let state = NetworkState.current()
                latest.withLock { $0 = state }
                links.yield(state)
            }
            if seen.files {
                // Symbolic links may lead elsewhere now.
                if watch >= 0 { close(watch) }
                watch = resolver.watch()
                let now = resolver.content
                if now != content { names.yield() }
                content = now
            }
            seen = Change()
        }
    }

    private struct Change {
        var links = false
        var files = false
        var isOver = false
        var isNone: Bool { !links && !files && !isOver }
    }

    /// Returns what happened first within the timeout; an empty change if nothing did.
    private func wait(_ watch: Int32, timeout: Int32) -> Change {
        var watched = [route?.rawValue ?? -1, stop.rawValue, watch].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let (count, _) = retrying { poll(&watched, nfds_t(watched.count), timeout) }
        var change = Change()
        change.isOver = count < 0 || watched[1].revents != 0
        guard count > 0, !change.isOver else { return change }
        if let route, watched[0].revents != 0 {
            change.links = true
            change.isOver = dld_route_drain(route.rawValue) < 0
        }
        if watched[2].revents != 0 { change.files = dld_names_drain(watch) == 1 }
        return change
    }
}

/// An IPv4 or IPv6 address given as a literal.
private struct SocketAddress {
    private var storage = sockaddr_storage()
    private let length: socklen_t

    init?(_ text: String) {
        var v4 = sockaddr_in()
        var v6 = sockaddr_in6()
        if inet_pton(AF_INET, text, &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = UInt16(9).bigEndian
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v4, as: sockaddr_in.self) }
        } else if inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 {
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_port = UInt16(9).bigEndian
            length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v6, as: sockaddr_in6.self) }
        } else {
            return nil
        }
    }

    /// Tells whether a route to the address leads through an interface with a carrier. Connecting a datagram socket
    /// sends nothing, fails at once without a route, and shows the source address that would be used. A route can
    /// outlive its carrier (`linkdown`), so the interface is checked too.
    var hasRoute: Bool {
        let descriptor = socket(Int32(storage.ss_family), Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var local = sockaddr_storage()
        var localLength = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
        }
        guard result == 0 else { return errno != ENETUNREACH && errno != EHOSTUNREACH && errno != EADDRNOTAVAIL }
        let isKnown = withUnsafeMutablePointer(to: &local) { local in
            local.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &localLength) == 0 }
        }
        guard isKnown else { return true }
        let source = withUnsafePointer(to: local) { local in
            local.withMemoryRebound(to: sockaddr.self, capacity: 1) { DeviceAddress.bytes(of: $0) }
        }
        // An address of this machine needs no carrier.
        return source == hostBytes || NetworkState.carries(source)
    }

    private var hostBytes: [UInt8] {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { DeviceAddress.bytes(of: $0) }
        }
    }
}

extension NetworkState {
    /// Tells whether the interface with this address has its carrier; true if no interface has the address.
    fileprivate static func carries(_ address: [UInt8]) -> Bool {
        guard let own = DeviceAddress.all()?.filter({ $0.bytes == address }), !own.isEmpty else { return true }
        return own.contains(where: \.hasCarrier)
    }
}

extension String {
    fileprivate func trimmingBrackets() -> String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}
