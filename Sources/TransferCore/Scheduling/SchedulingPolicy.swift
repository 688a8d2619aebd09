import TransferModel

/// The times by which slots and hosts are shared. No promise depends on their exact values; the simulation proves that it
/// notices when they are wrong.
package struct SchedulingPolicy: Sendable, Hashable {
    /// A run is not stopped for another owner's first slot before it has had this: most tasks end by then.
    package var shortestTurn: Seconds = 1
    /// How long a run keeps its slot while other owners wait for more of the slots.
    package var turn: Seconds = 30
    /// From the moment at which a host is held to the first probe; the time to each further probe is twice as long.
    package var firstProbe: Seconds = 5
    /// Between probes at most.
    package var longestProbe: Seconds = 60

    package init() {}
}
