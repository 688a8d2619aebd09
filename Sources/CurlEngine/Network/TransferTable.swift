/// The transfers that run. Each knows its place, so that finding one hashes nothing.
struct TransferTable {
    private(set) var all: [Transfer] = []

    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }

    func contains(_ transfer: Transfer) -> Bool { transfer.place != nil }

    mutating func add(_ transfer: Transfer) {
        transfer.place = all.count
        all.append(transfer)
    }

    /// False if it is not in the table.
    mutating func remove(_ transfer: Transfer) -> Bool {
        guard let place = transfer.place, let last = all.popLast() else { return false }
        transfer.place = nil
        if last !== transfer {
            all[place] = last
            last.place = place
        }
        return true
    }
}
