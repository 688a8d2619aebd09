import TransferModel

/// How many connections one download may open.
package enum ConnectionPolicy: Sendable, Hashable {
    /// Asked for: so many at once, as soon as the server has said what it has.
    case fixed(Int)
    /// Nobody asked: one, and further ones up to this number while each makes the whole faster.
    case adaptive(atMost: Int)

    package static let limit = Bounds.connections
    package static let adaptiveLimit = 4
    package static let automatic = ConnectionPolicy.adaptive(atMost: adaptiveLimit)

    /// Connections at most.
    package var most: Int {
        switch self {
        case .fixed(let count), .adaptive(let count): min(max(1, count), Self.limit)
        }
    }
}
