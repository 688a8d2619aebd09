import TransferModel

/// How many connections one download may open.
package enum ConnectionPolicy: Sendable, Hashable {
    /// Requested: this many at once, as soon as the server has told the file's length.
    case fixed(Int)
    /// Not requested: one, and further ones up to this number while each makes the download faster.
    case adaptive(atMost: Int)

    package static let limit = Bounds.connections
    package static let adaptiveLimit = 4
    package static let automatic = ConnectionPolicy.adaptive(atMost: adaptiveLimit)

    /// The most connections.
    package var most: Int {
        switch self {
        case .fixed(let count), .adaptive(let count): min(max(1, count), Self.limit)
        }
    }
}
