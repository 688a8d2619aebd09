import ArgumentParser

/// What may go wrong in a world. Shrinking a failure takes away what it does not need.
enum Hazard: String, CaseIterable, ExpressibleByArgument {
    /// Refused and cut connections, stalls, 5xx, 429, servers without ranges.
    case network
    /// The daemon dies between two steps.
    case crash
    /// What was not synced is gone after a crash.
    case power
    /// Calls that change files, or make them durable, fail for a while.
    case disk
    /// Resources change while they are fetched, and files while they are sent.
    case version
    /// Jobs that are ready run in any order.
    case order
    /// Clients pause, resume, cancel, retry and remove.
    case client
    /// The wall clock jumps.
    case clock
    /// Subscribers follow the events, read slowly, go away and come back.
    case subscriber
    /// Clients with sessions that end with their connections, streams among their tasks.
    case volatile
}

/// Defects that are planted to see them found.
enum Plant: String, CaseIterable, ExpressibleByArgument {
    /// The engine goes on in the file where it was told to empty it.
    case splice
    /// A crash takes back what was committed.
    case forget
    /// A folder that was synced has not kept its names.
    case unname
    /// An exchange never ends.
    case stuck
    /// The engine sends the beginning of a file where it was told to go on in the middle.
    case misplace
    /// An event is missing in what the store tells of its log.
    case skip
    /// What a subscriber acknowledges is taken for everything that there is.
    case overtake
    /// Statuses of some URLs count as silence of their host, which is then probed once in ten hours.
    case sick
    /// No owner ever gives a slot up.
    case greed
    /// No program is found to run.
    case relaunch
    /// The daemon is not told that a connection was closed.
    case linger
    /// Streams get more credit than their client gave.
    case gush
}

/// One world, completely: what a failure is replayed from.
struct Scenario {
    var seed: UInt64
    var steps: Int
    var hazards: Set<Hazard>
    var plant: Plant?

    /// As arguments of `simulate`.
    var arguments: String {
        var text = "--seed \(seed) --steps \(steps)"
        let without = Hazard.allCases.filter { !hazards.contains($0) }
        if !without.isEmpty { text += " --without " + without.map(\.rawValue).joined(separator: " ") }
        if let plant { text += " --plant \(plant.rawValue)" }
        return text
    }
}

/// A promise that was broken.
struct Violation: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
