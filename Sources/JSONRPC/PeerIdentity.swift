import Glibc
import NIOCore

/// The process at the other end of a Unix socket, as the kernel recorded it at `connect`, or at `listen` for a listener
/// (unix(7), SO_PEERCRED).
package struct PeerIdentity: Hashable, Sendable {
    package var uid: UInt32
    package var gid: UInt32
    package var pid: Int32

    package init(uid: UInt32, gid: UInt32, pid: Int32) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
    }

    /// `struct ucred`, which is missing from the Glibc module.
    private struct Credentials {
        var pid: Int32 = 0
        var uid: UInt32 = .max
        var gid: UInt32 = .max
    }

    /// Asks the kernel. Must be called on the channel's event loop.
    /// - Throws: if the channel is not a socket, or if the kernel refuses.
    static func of(_ channel: any Channel) -> EventLoopFuture<PeerIdentity> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        let name = NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        let credentials: EventLoopFuture<Credentials> = options.unsafeGetSocketOption(level: .socket, name: name)
        return credentials.map { PeerIdentity(uid: $0.uid, gid: $0.gid, pid: $0.pid) }
    }
}
