import Threading
import TransferCore

/// Counts the connections of downloads to each host, so that only few are opened unasked.
final class HostConnections: Sendable {
    private let open = Guarded<[String: Int]>([:])

    func opened(_ host: String) { open.withLock { $0[host, default: 0] += 1 } }

    func closed(_ host: String) {
        open.withLock { open in
            guard let count = open[host] else { return }
            open[host] = count > 1 ? count - 1 : nil
        }
    }

    /// How many more connections to a host may be opened unasked.
    func spare(_ host: String) -> Int {
        max(0, ConnectionPolicy.adaptiveLimit - open.withLock { $0[host, default: 0] })
    }
}
