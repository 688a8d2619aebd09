import FileKit
import Synchronization
import TransferCore
import TransferModel

/// The network and the disk, as the monitors see them. Waiting tasks wait for these conditions outside the daemon.
package final class Conditions: Sendable {
    let network: NetworkMonitor
    let disk: DiskMonitor
    private let mayHaveDiskWaiters = Atomic<Bool>(true)

    package init(network: NetworkMonitor, disk: DiskMonitor) {
        self.network = network
        self.disk = disk
    }

    /// Tells whether some task may wait for the disk, which must be polled.
    var needsPolling: Bool { mayHaveDiskWaiters.load(ordering: .relaxed) }
    func set(needsPolling: Bool) { mayHaveDiskWaiters.store(needsPolling, ordering: .relaxed) }

    /// A connection that failed while no network leads to the host waits for the network instead of a back-off.
    /// - Parameter host: the name or address of the connection; nil if there is a proxy.
    func adjusted(_ failure: AttemptFailure, for host: String?) -> AttemptFailure {
        let adjusted = failure.withoutNetwork
        guard let host, adjusted != failure, !network.isReachable(host: host) else { return failure }
        return adjusted
    }
}
