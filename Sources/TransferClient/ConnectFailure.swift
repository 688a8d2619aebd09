import Glibc
import NIOCore

extension ClientError {
    /// Explains why connecting to a socket failed.
    init(_ error: any Error, at socket: String) {
        // Something listens there.
        guard let error = error as? IOError else {
            self = .connectionLost("\(error)")
            return
        }
        switch error.errnoCode {
        case ENOENT: self = .noDaemon(socket: socket, reason: "the socket does not exist")
        case ECONNREFUSED: self = .noDaemon(socket: socket, reason: "nothing listens there")
        case EACCES: self = .notPermitted(socket: socket, reason: Self.exclusion(from: socket))
        default: self = .noDaemon(socket: socket, reason: String(cString: strerror(error.errnoCode)))
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
