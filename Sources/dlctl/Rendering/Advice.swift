import TransferModel

/// What a person can do about a cause, or while a task waits; one sentence for each, so that no failure is a dead end.
enum Advice {
    /// About a task that nothing happens to by itself, but where a disk is the cause: that is always waited for.
    static func text(_ code: ErrorCode, task: TaskID) -> String {
        switch code {
        case .badURL: "Correct the address: dlctl update \(task) --url URL, then dlctl retry \(task)."
        case .badField, .unknownField, .tooLarge: "Change what was asked for and add the task again."
        case .unsupported: "This version of dld cannot do that; see 'dlctl info' for its features."
        case .sessionNotFound, .sessionInvalidated: "Open a session first: dlctl session open NAME."
        case .taskNotFound: "See 'dlctl list --all' for the tasks there are."
        case .taskWrongState: "See 'dlctl show \(task)' for its state."
        case .permissionDenied: "Choose a place this user may read and write, or let the owner of the files do it."
        case .destinationExists:
            "Move the existing file away, or add the task again with --on-conflict rename or overwrite."
        case .destinationNotWritable: "Make the folder writable, then dlctl retry \(task)."
        case .destinationBadPath: "Add the task again with another -o or -d."
        case .sourceUnreadable: "Check the local file, then dlctl retry \(task)."
        case .sourceChanged: "Add the upload again when the file is as it should be; two versions are never mixed."
        case .diskFull: "Free some space; the task goes on by itself."
        case .diskQuota: "Free some of your quota; the task goes on by itself."
        case .diskIO: "Check that the disk is mounted and sound; the task goes on by itself when it is back."
        case .networkDNS: "Check the host's name and the name server, then dlctl retry \(task)."
        case .networkConnect, .networkLost, .networkTimeout: "dlctl retry \(task) tries again."
        case .tlsUntrusted:
            "If the server is meant to be trusted, add the task again with --ca-file; do not go around it."
        case .tlsFailed: "Check the server's TLS versions and the certificate options; then dlctl retry \(task)."
        case .httpStatus:
            "Check the address in a browser; dlctl update \(task) --url URL corrects it, dlctl retry \(task) tries again."
        case .httpRedirectLimit:
            "The server redirects in a circle; check the address or send the cookie it wants with -H."
        case .httpProtocol: "The server answers wrongly; dlctl retry \(task) tries again, another mirror may help."
        case .authRequired: "Add the task again with --user, --netrc or --bearer-file."
        case .authFailed: "Check user and password and add the task again."
        case .validatorChanged: "Nothing: the file changed on the server and is fetched anew."
        case .integrityChecksum: "Check the expected checksum; if it is right, the server's file is damaged or forged."
        case .integrityLength: "dlctl retry \(task) fetches it again."
        case .rpcMalformed, .rpcUnknownMethod: "dlctl and dld are of different versions; restart dld."
        case .deadlineExceeded:
            "dlctl retry \(task) gives it new time; where its --deadline has passed, add it again with a later one."
        case .cancelled: "dlctl retry \(task) takes it up again."
        case .plaintextRefused: "Use an https address, or a session that allows plain http."
        case .limitReached: "Wait until other tasks are done, or raise the limit (dlctl settings)."
        case .shuttingDown: "Wait for the daemon to come back."
        case .internal: "Please report it with the output of 'dlctl events --task \(task)' and the daemon's log."
        }
    }

    static func text(_ reason: WaitReason, task: TaskID) -> String {
        switch reason {
        case .retry: "Nothing: it is tried again by itself. dlctl retry \(task) tries now."
        case .network: "Nothing: it goes on when the network is back. dlctl retry \(task) tries now."
        case .schedule: "Nothing: it goes on when its time comes. dlctl retry \(task) begins now."
        case .disk: "Free space or mount the target; it goes on by itself."
        case .authentication: "Give the credentials it needs and add the task again."
        case .decision: "A client must answer the question it asked."
        case .metered: "Nothing: it goes on in an unmetered network."
        }
    }
}
