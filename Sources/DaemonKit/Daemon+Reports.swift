import FileKit
import Logging
import TransferStore

extension Daemon {
    /// Logs each problem of the state folder once.
    static func report(_ store: TransferStore, to logger: Logger) {
        let path = Logger.MetadataValue(stringLiteral: store.folderPath)
        if let mode = store.listableMode {
            logger.warning(
                "other users can list the state folder: run chmod go-r on it",
                metadata: ["state": path, "mode": "\(mode)"])
        }
        if let log = store.missingLog {
            logger.warning(
                "the last dld was killed and the database's log is gone: what was only in the log is lost",
                metadata: ["state": path, "path": "\(log)"])
        }
        store.onTrouble { news in
            switch news {
            case .began(.full, let error):
                logger.warning(
                    "the state folder is full: adds are refused",
                    metadata: ["state": path, "error": "\(error.message)"])
            case .began(.unusable, let error):
                logger.warning(
                    "the state database fails: it is tried again",
                    metadata: ["state": path, "error": "\(error.message)"])
            case .began(.damaged, let error):
                logger.error(
                    "the state database is damaged", metadata: ["state": path, "error": "\(error.message)"])
            case .ended(.damaged): break
            case .ended(.full): logger.notice("the state folder has room again", metadata: ["state": path])
            case .ended(.unusable): logger.notice("the state database works again", metadata: ["state": path])
            }
        }
    }

    static func report(_ beneath: PathsBeneath, to logger: Logger) {
        switch beneath {
        case .openat2: logger.info("opens users' paths", metadata: ["by": "openat2"])
        case .walk:
            logger.notice(
                "opens users' paths component by component: this kernel or unit gives no openat2",
                metadata: ["by": "walk"])
        }
    }
}
