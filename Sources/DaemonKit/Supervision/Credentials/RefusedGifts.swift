import TransferCore
import TransferModel

/// Remembers which credentials a helper gave and a server refused, without the passwords. It compares hashes, whose key
/// lasts as long as the process.
struct RefusedGifts: Sendable {
    private struct Gift: Hashable {
        var demand: ProtectionSpace
        var hash: Int
    }

    /// The newest is last.
    private var gifts: [Gift] = []

    /// If there are more than `Bounds.credentials`, the oldest is forgotten.
    mutating func add(_ given: FoundCredential, for demand: ProtectionSpace) {
        let gift = Gift(demand: demand, hash: given.hashValue)
        gifts.removeAll { $0 == gift }
        gifts.append(gift)
        if gifts.count > Bounds.credentials { gifts.removeFirst() }
    }

    func contains(_ given: FoundCredential, for demand: ProtectionSpace) -> Bool {
        gifts.contains(Gift(demand: demand, hash: given.hashValue))
    }

    /// A nil realm or method stands for every one.
    mutating func remove(at space: CredentialSpace) { gifts.removeAll { space.covers($0.demand) } }
}
