import Threading
import TransferCore

/// Counts the connections of downloads to each host, so that those that nobody asked for stay few.
final class HostConnections: Sendable {
    private let open = Guarded<[String: Int]>([:])

    func opened(_ host: String) { open.withLock { $0[host, default: 0] += 1 } }

    func closed(_ host: String) {
        open.withLock { open in
            guard let count = open[host] else { return }
            open[host] = count > 1 ? count - 1 : nil
        }
    }

    /// Connections that a host may be given unasked beside those it has.
    func spare(_ host: String) -> Int {
        max(0, ConnectionPolicy.adaptiveLimit - open.withLock { $0[host, default: 0] })
    }
}
