import Glibc
import NIOCore

/// Says in words why a socket could not be connected to.
enum ConnectFailure {
    static func error(_ error: any Error, at socket: String) -> ClientError {
        // Somebody listens there.
        guard let error = error as? IOError else { return .connectionLost("\(error)") }
        switch error.errnoCode {
        case ENOENT: return .noDaemon(socket: socket, reason: "there is no such socket")
        case ECONNREFUSED: return .noDaemon(socket: socket, reason: "nobody listens there")
        case EACCES: return .notPermitted(socket: socket, reason: exclusion(from: socket))
        default: return .noDaemon(socket: socket, reason: String(cString: strerror(error.errnoCode)))
        }
    }

    /// Who is kept out, by what, and who is not.
    private static func exclusion(from socket: String) -> String {
        var sentence = "user \(Barrier.user(geteuid())) may not connect to it"
        if let barrier = Barrier(to: socket) {
            let what = barrier.path == socket ? "it" : barrier.path
            sentence += "; \(what) has the mode \(barrier.mode) and admits \(barrier.admitted)"
            if barrier.isOwn { sentence += "; run chmod u+rwx on \(what)" }
        }
        if DaemonClient.systemSocketPaths.contains(socket) {
            sentence += "; the system's daemon serves the groups dld and dld-admin"
        }
        return sentence
    }
}
