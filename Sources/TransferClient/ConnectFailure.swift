import Glibc
import NIOCore

/// Says in words why a socket could not be connected to.
enum ConnectFailure {
    static func sentence(_ error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        switch error.errnoCode {
        case ENOENT: return "there is no such socket"
        case ECONNREFUSED: return "nobody listens there"
        case EACCES: return "this user may not connect to it (the system's daemon serves the groups dld and dld-admin)"
        default: return String(cString: strerror(error.errnoCode))
        }
    }
}
