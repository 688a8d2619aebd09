import ArgumentParser

/// What may go wrong in a world. When a failure is shrunk, the hazards that it does not need are removed.
enum Hazard: String, CaseIterable, ExpressibleByArgument {
    /// Refused and broken connections, stalls, 5xx, 429, servers without ranges.
    case network
    /// The daemon dies between two steps.
    case crash
    /// Bytes that were not synced are lost after a crash.
    case power
    /// Calls that change files or sync them fail for a while.
    case disk
    /// Resources change while they are fetched, and files change while they are sent.
    case version
    /// Ready jobs run in any order.
    case order
    /// Clients pause, resume, cancel, retry and remove.
    case client
    /// The wall clock jumps.
    case clock
    /// Subscribers follow the events, read slowly, leave and come back.
    case subscriber
    /// The machine's network and power change, and the machine sleeps.
    case machine
    /// Clients with sessions that end with their connections, and with streams among their tasks.
    case volatile
}

/// Planted defects, which the simulation must find.
enum Plant: String, CaseIterable, ExpressibleByArgument {
    /// The engine continues a file that it was told to empty.
    case splice
    /// A crash undoes what was committed.
    case forget
    /// A synced folder has lost its names.
    case unname
    /// An exchange never ends.
    case stuck
    /// The engine sends the start of a file although it was told to resume in the middle.
    case misplace
    /// The store leaves out one event of its log.
    case skip
    /// An acknowledgement of a subscriber counts for all events.
    case overtake
    /// Failures of some URLs count as silence of their host, which is then probed only every ten hours.
    case sick
    /// No owner ever gives up a slot.
    case greed
    /// No program is found to run.
    case relaunch
    /// The daemon is not told that a connection was closed.
    case linger
    /// Streams get more credit than their client gave.
    case gush
    /// What runs when a host asks for a pause counts against it, a minute each.
    case count
    /// Once a client trusts a key of a server, the engine takes any other of it.
    case unpinned
    /// The daemon is not told when the machine's network or power changes.
    case roam
}

/// The complete description of one world. A failure is replayed from it.
struct Scenario {
    var seed: UInt64
    var steps: Int
    var hazards: Set<Hazard>
    var plant: Plant?

    /// The arguments for `simulate`.
    var arguments: String {
        var text = "--seed \(seed) --steps \(steps)"
        let without = Hazard.allCases.filter { !hazards.contains($0) }
        if !without.isEmpty { text += " --without " + without.map(\.rawValue).joined(separator: " ") }
        if let plant { text += " --plant \(plant.rawValue)" }
        return text
    }
}

/// A broken promise.
struct Violation: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
