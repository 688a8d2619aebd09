import FileKit
import Synchronization
import TransferCore
import TransferModel

/// What waiting tasks wait for outside the daemon: the network and the disk, as the monitors see them.
package final class Conditions: Sendable {
    let network: NetworkMonitor
    let disk: DiskMonitor
    private let mayHaveDiskWaiters = Atomic<Bool>(true)

    package init(network: NetworkMonitor, disk: DiskMonitor) {
        self.network = network
        self.disk = disk
    }

    /// Whether some task may wait for the disk, which nothing but asking tells about.
    var needsPolling: Bool { mayHaveDiskWaiters.load(ordering: .relaxed) }
    func set(needsPolling: Bool) { mayHaveDiskWaiters.store(needsPolling, ordering: .relaxed) }

    /// A connection that failed while no network leads to the host waits for the network, not for a back-off.
    /// - Parameter host: name or address the connection goes to; nil if a proxy stands between.
    func adjusted(_ failure: AttemptFailure, for host: String?) -> AttemptFailure {
        let adjusted = failure.withoutNetwork
        guard let host, adjusted != failure, !network.isReachable(host: host) else { return failure }
        return adjusted
    }
}
