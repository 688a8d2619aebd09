import JSONRPC

/// The places where this daemon listens. The state folder is always one of them. So a client that knows the folder
/// finds the daemon, no matter with which environments the two were started.
package struct ListeningPlaces: Sendable {
    package struct Place: Sendable {
        package enum Kind: Sendable {
            /// The service manager opened it and keeps it open.
            case adopted
            /// The configuration names it. If the daemon cannot listen there, it does not start.
            case named
            /// Clients look for a daemon of this mode there.
            case usual
        }

        package var path: SocketPath
        package var kind: Kind

        package init(path: SocketPath, kind: Kind) {
            (self.path, self.kind) = (path, kind)
        }
    }

    /// The place that most clients use is the first.
    package var places: [Place] = []

    static let stateName = "dld.sock"

    /// - Parameter adopted: the socket that the service manager opened. It replaces the configured one.
    /// - Throws: `SocketPath.Unusable` if the configured path cannot be that of a socket.
    package init(_ configuration: Configuration, adopted: ListenSockets.Adopted?) throws(SocketPath.Unusable) {
        let isSystem = configuration.paths.system
        let (folderMode, socketMode): (UInt32, UInt32) = isSystem ? (0o750, 0o660) : (0o700, 0o600)
        let state = configuration.stateDirectory + "/" + Self.stateName
        let isNamed = configuration.settings.socket != nil
        if let adopted {
            // An abstract socket has no file to watch.
            if let path = adopted.path {
                let path = try SocketPath(path, folderMode: folderMode, socketMode: socketMode)
                places.append(Place(path: path, kind: .adopted))
            }
        } else if configuration.socket != state {
            let path = try SocketPath(configuration.socket, folderMode: folderMode, socketMode: socketMode)
            places.append(Place(path: path, kind: isNamed ? .named : .usual))
        }
        // The store creates the folder with its own mode.
        if adopted?.path != state, let path = try? SocketPath(state, folderMode: nil, socketMode: socketMode) {
            let isMeant = isNamed && adopted == nil && configuration.socket == state
            places.append(Place(path: path, kind: isMeant ? .named : .usual))
        }
    }
}
