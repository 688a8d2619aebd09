import DaemonSetup
import FileKit
import Glibc
import JSONRPC
import TransferCore
import TransferModel
import TransferStore

/// What a failed start tells the administrator and the waiting clients.
enum FailedStart {
    /// Tells clients that wait at sockets of the service manager why nobody answers. Otherwise the manager would find
    /// them still waiting and start the daemon again at once.
    static func tell(_ environment: [String: String], _ refusal: TransferError) {
        guard let sockets = try? ListenSockets(environment: environment).sockets else { return }
        for socket in sockets {
            ListenerFarewell.refuse(waitingAt: socket.descriptor, with: RPCError(refusal))
        }
    }

    /// One line, because clients show messages as one. In system mode, only the administrator may see the
    /// configuration. Other users learn where the cause is logged.
    static func refusal(isSystem: Bool, cause: String) -> TransferError {
        let reason =
            isSystem
            ? "The journal says why (journalctl -u dld.service); when that is corrected, the next client starts it."
            : "\(cause.split(separator: "\n").joined(separator: " ")) When that is corrected, the next client starts it."
        return TransferError(.shuttingDown, "dld cannot start. \(reason)")
    }

    /// Adds what is likely to block the daemon: a limit of the process, or the unit. A system unit may write only to
    /// its own state folder (ProtectSystem=strict).
    static func advising(
        _ error: TransferError, stateFolder path: String, isSystem: Bool, environment: [String: String],
        limit: ByteCount? = FileSizeLimit.current
    ) -> TransferError {
        if let limit, error.code == .diskIO || error.code == .diskFull,
            error.details["errno"] == .integer(Int64(EFBIG)) || limit < TransferStore.need(folder: path)
        {
            let unit = isSystem ? "systemctl edit dld" : "systemctl --user edit dld"
            return TransferError(
                error.code,
                "\(error.message) The daemon may write no more than \(limit.rawValue) bytes into one file (ulimit -f). Raise the "
                    + "limit: LimitFSIZE= in dld.service (\(unit)), or, if a shell starts dld, ulimit -f unlimited there.",
                retryable: error.retryable, details: error.details)
        }
        let given = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        guard isSystem, let given, path != given, !path.hasPrefix(given + "/"), error.code == .permissionDenied else {
            return error
        }
        let places = PathRules.components(of: path)
        let isHome = [["home"], ["root"], ["run", "user"]].contains { places.starts(with: $0) }
        let advice =
            isHome
            ? "The unit hides homes from dld (ProtectHome=): choose a folder elsewhere."
            : "The unit lets dld write only to \(given). Make the folder for it (install -d -o dld -g dld -m 711 \(path)) "
                + "and add ReadWritePaths=\(path) to the unit (systemctl edit dld.service)."
        return TransferError(
            error.code, "\(error.message) \(advice)", retryable: error.retryable, details: error.details)
    }
}
