import TransferModel

/// What a person can do about a cause, or while a task waits; one sentence for each, so that no failure is a dead end.
enum Advice {
    /// As below, and for some causes by what the daemon found out.
    static func text(_ error: TransferError, task: TaskID, now: Timestamp = .now()) -> String {
        if error.details[TransferError.tooLargeMember] == true {
            return
                "Choose a folder that takes files of this size: dlctl update \(task) -d DIR; then dlctl retry \(task)."
        }
        guard let fault = error.details[CertificateFault.member]?.stringValue.flatMap(CertificateFault.init(rawValue:))
        else {
            return text(error.code, task: task)
        }
        switch fault {
        case .expired, .notYetValid:
            return
                "This machine's clock says \(LocalTime.text(now)). If that is right, ask the server's operator for a valid "
                + "certificate; then dlctl retry \(task)."
        case .wrongName: return "Check the address: dlctl update \(task) --url URL, then dlctl retry \(task)."
        case .revoked, .weak: return "Ask the server's operator for another certificate; then dlctl retry \(task)."
        case .selfSigned, .unknownIssuer: return text(error.code, task: task)
        }
    }

    /// About a task that nothing happens to by itself, but where a disk is the cause: that is always waited for.
    static func text(_ code: ErrorCode, task: TaskID) -> String {
        switch code {
        case .badURL: "Correct the address: dlctl update \(task) --url URL, then dlctl retry \(task)."
        case .badField, .unknownField, .tooLarge: "Change what was asked for and add the task again."
        case .unsupported: "This version of dld cannot do that; see 'dlctl info' for its features."
        case .tokenReused: "Send the first specification again, or use a new token."
        case .sessionNotFound, .sessionInvalidated: "Open a session first: dlctl session open NAME."
        case .taskNotFound: "See 'dlctl list --all' for the tasks there are."
        case .taskWrongState: "See 'dlctl show \(task)' for its state."
        case .permissionDenied:
            "Choose a folder this user may read and write: dlctl update \(task) -d DIR, then dlctl retry \(task)."
        case .destinationExists:
            "Move the existing file away, or keep both: dlctl update \(task) --on-conflict rename; then dlctl retry \(task)."
        case .destinationNotWritable:
            "Make the folder writable, or choose another: dlctl update \(task) -d DIR; then dlctl retry \(task)."
        case .destinationBadPath: "Choose another place: dlctl update \(task) -o FILE, then dlctl retry \(task)."
        case .sourceUnreadable: "Check the local file, then dlctl retry \(task)."
        case .sourceChanged:
            "When the file is as it should be, dlctl retry \(task) --source-changed sends it from the beginning; two versions "
                + "are never mixed."
        case .diskFull: "Free some space; the task goes on by itself."
        case .diskQuota: "Free some of your quota; the task goes on by itself."
        case .diskIO: "Check that the disk is mounted and sound; the task goes on by itself when it is back."
        case .networkDNS:
            "Check the name server; if the host's name is wrong, dlctl update \(task) --url URL; then dlctl retry \(task)."
        case .networkConnect, .networkLost, .networkTimeout: "dlctl retry \(task) tries again."
        case .tlsUntrusted:
            "If the server is meant to be trusted, dlctl update \(task) --ca-file FILE, then dlctl retry \(task); do not go "
                + "around it."
        case .tlsFailed: "Check the server's TLS versions and the certificate options; then dlctl retry \(task)."
        case .httpStatus:
            "Check the address in a browser; dlctl update \(task) --url URL corrects it, dlctl retry \(task) tries again."
        case .httpRedirectLimit:
            "The server redirects in a circle. If it wants a cookie, dlctl update \(task) -H 'Cookie: NAME'; "
                + "then dlctl retry \(task)."
        case .httpProtocol:
            "The server answers wrongly; dlctl update \(task) --mirror URL names another, dlctl retry \(task) tries again."
        case .authRequired:
            "Say who asks: dlctl update \(task) --user NAME (or --netrc, or --bearer-file FILE), then dlctl retry \(task)."
        case .authFailed:
            "Check user and password, give them anew: dlctl update \(task) --user NAME; then dlctl retry \(task)."
        case .validatorChanged: "Nothing: what was here could not be continued safely, and the file is fetched anew."
        case .integrityChecksum:
            "Check the expected checksum; dlctl update \(task) --checksum ALG:HEX corrects it, dlctl retry \(task) fetches the "
                + "file again. If it is right, the server's file is damaged or forged."
        case .integrityLength: "dlctl retry \(task) fetches it again."
        case .rpcMalformed, .rpcUnknownMethod: "This program and its daemon are of different versions; restart dld."
        case .deadlineExceeded:
            "If its deadline has passed, set a later one: dlctl update \(task) --deadline TIME; then dlctl retry \(task)."
        case .cancelled: "dlctl retry \(task) takes it up again."
        case .plaintextRefused:
            "Use an https address: dlctl update \(task) --url URL, then dlctl retry \(task). Or allow plain http in its session."
        case .limitReached: "Wait until other tasks are done, or raise the limit (dlctl settings)."
        case .shuttingDown: "Wait for the daemon to come back."
        case .internal: "Please report it with the output of 'dlctl events --task \(task)' and the daemon's log."
        }
    }

    /// nil if only other tasks can end the wait, or `TaskView.explanation` says what to do.
    static func text(_ reason: QueueReason) -> String? {
        switch reason {
        case .slots: "Nothing: it starts when another task is done. dlctl limit --tasks N lets more run at once."
        case .user, .session, .hostSlots, .host, .sessionPaused: nil
        }
    }

    static func text(_ reason: WaitReason, task: TaskID) -> String {
        switch reason {
        case .retry: "Nothing: it is tried again by itself. dlctl retry \(task) tries now."
        case .network: "Nothing: it goes on when the network is back. dlctl retry \(task) tries now."
        case .schedule: "Nothing: it goes on when its time comes. dlctl retry \(task) begins now."
        case .disk: "Free space or mount the target; it goes on by itself."
        case .authentication: "Say who asks: dlctl update \(task) --user NAME."
        case .decision: "A client must answer the question it asked."
        case .metered: "Nothing: it goes on in an unmetered network."
        }
    }
}
