import TransferModel

/// The times by which slots and hosts are shared. No promise depends on their exact values. The simulation plants wrong
/// ones and detects them.
package struct SchedulingPolicy: Sendable, Hashable {
    /// A run is not stopped for another owner's first slot before it has had this long: most tasks end by then.
    package var shortestTurn: Seconds = 1
    /// How long a run keeps its slot while other owners wait for more of the slots.
    package var turn: Seconds = 30
    /// Time from the moment a host is held to the first probe. The time to each further probe is twice as long.
    package var firstProbe: Seconds = 5
    /// The longest time between probes.
    package var longestProbe: Seconds = 60

    package init() {}
}
