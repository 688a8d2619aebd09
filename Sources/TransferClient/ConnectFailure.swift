import Glibc
import NIOCore

extension ClientError {
    /// Explains why connecting to a socket failed.
    static func connecting(_ error: any Error, to socket: String) -> ClientError {
        // Something listens there.
        guard let error = error as? IOError else { return .connectionLost("\(error)") }
        switch error.errnoCode {
        case ENOENT: return .noDaemon(socket: socket, reason: "the socket does not exist")
        case ECONNREFUSED: return .noDaemon(socket: socket, reason: "nothing listens there")
        case EACCES: return .notPermitted(socket: socket, reason: exclusion(from: socket))
        default: return .noDaemon(socket: socket, reason: String(cString: strerror(error.errnoCode)))
        }
    }

    /// Names the refused user, the cause, and the admitted users.
    private static func exclusion(from socket: String) -> String {
        var sentence = "user \(Barrier.user(geteuid())) may not connect to it"
        if let barrier = Barrier(to: socket) {
            let what = barrier.path == socket ? "it" : barrier.path
            sentence += "; \(what) has the mode \(barrier.mode) and admits \(barrier.admitted)"
            if barrier.isOwn { sentence += "; run chmod u+rwx on \(what)" }
        }
        if DaemonClient.systemSocketPaths.contains(socket) {
            sentence += "; the system daemon serves the groups dld and dld-admin"
        }
        return sentence
    }
}
