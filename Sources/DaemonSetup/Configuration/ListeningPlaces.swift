import JSONRPC

/// Where this daemon is to listen. The state folder is always among it: who knows the folder finds the daemon there, with
/// whatever environment either of them was started.
package struct ListeningPlaces: Sendable {
    package struct Place: Sendable {
        package enum Kind: Sendable {
            /// Opened by the service manager, which keeps it open.
            case adopted
            /// Somebody named it: then there is no daemon without it.
            case named
            /// Where a daemon of this mode is looked for.
            case usual
        }

        package var path: SocketPath
        package var kind: Kind

        package init(path: SocketPath, kind: Kind) {
            (self.path, self.kind) = (path, kind)
        }
    }

    /// The best known one first.
    package var places: [Place] = []

    static let stateName = "dld.sock"

    /// - Parameter adopted: the socket that the service manager opened; it takes the place of the configured one.
    /// - Throws: `SocketPath.Unusable` if the configured path can be no socket's.
    package init(_ configuration: Configuration, adopted: ListenSockets.Adopted?) throws(SocketPath.Unusable) {
        let isSystem = configuration.paths.system
        let (folderMode, socketMode): (UInt32, UInt32) = isSystem ? (0o750, 0o660) : (0o700, 0o600)
        let state = configuration.stateDirectory + "/" + Self.stateName
        let isNamed = configuration.settings.socket != nil
        if let adopted {
            // An abstract one has no name to look after.
            if let path = adopted.path {
                let path = try SocketPath(path, folderMode: folderMode, socketMode: socketMode)
                places.append(Place(path: path, kind: .adopted))
            }
        } else if configuration.socket != state {
            let path = try SocketPath(configuration.socket, folderMode: folderMode, socketMode: socketMode)
            places.append(Place(path: path, kind: isNamed ? .named : .usual))
        }
        // The store makes the folder, with its own mode.
        if adopted?.path != state, let path = try? SocketPath(state, folderMode: nil, socketMode: socketMode) {
            let isMeant = isNamed && adopted == nil && configuration.socket == state
            places.append(Place(path: path, kind: isMeant ? .named : .usual))
        }
    }
}
