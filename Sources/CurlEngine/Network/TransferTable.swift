/// The running transfers. Each knows its index, so that no lookup hashes.
struct TransferTable {
    /// Transfers that the tick checks, and transfers that only rounds serve: a tick that visited a thousand of these
    /// ten times a second cost more than their bytes.
    private(set) var restless: [Transfer] = []
    private(set) var resting: [Transfer] = []

    var all: [Transfer] { restless + resting }
    var isEmpty: Bool { restless.isEmpty && resting.isEmpty }
    var count: Int { restless.count + resting.count }

    func contains(_ transfer: Transfer) -> Bool { transfer.place != nil }

    mutating func add(_ transfer: Transfer) {
        transfer.isInRounds = false
        Self.put(transfer, into: &restless)
    }

    /// Returns false if it is not in the table.
    mutating func remove(_ transfer: Transfer) -> Bool {
        transfer.isInRounds ? Self.take(transfer, from: &resting) : Self.take(transfer, from: &restless)
    }

    /// Leaves a transfer of the table to rounds, or to the tick.
    mutating func leave(_ transfer: Transfer, toRounds isInRounds: Bool) {
        guard transfer.isInRounds != isInRounds, remove(transfer) else { return }
        transfer.isInRounds = isInRounds
        isInRounds ? Self.put(transfer, into: &resting) : Self.put(transfer, into: &restless)
    }

    private static func put(_ transfer: Transfer, into list: inout [Transfer]) {
        transfer.place = list.count
        list.append(transfer)
    }

    private static func take(_ transfer: Transfer, from list: inout [Transfer]) -> Bool {
        guard let place = transfer.place, let last = list.popLast() else { return false }
        transfer.place = nil
        if last !== transfer {
            list[place] = last
            last.place = place
        }
        return true
    }
}
