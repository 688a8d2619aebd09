import TransferModel
import TransferRPC

/// What a user can do about an error or a wait: a sentence, and commands to copy. Every failure has advice.
struct Advice: Hashable {
    var sentence: String
    /// Commands to run in this order. Words in capitals are placeholders for the user to fill in.
    var commands: [String]

    init(_ sentence: String, _ commands: String...) {
        self.sentence = sentence
        self.commands = commands
    }

    /// Everything on one line.
    var text: String {
        commands.isEmpty ? sentence : "\(sentence) \(commands.joined(separator: "; "))"
    }
}

extension Advice {
    /// - Parameter mayConfigure: whether the user may change the daemon's settings.
    static func on(
        _ error: TransferError, task: TaskID, mayConfigure: Bool = true, now: Timestamp = .now()
    ) -> Advice {
        if error.details[TransferError.tooLargeMember] == true {
            return update(task, "-d DIR", "Choose a folder that takes files of this size, and try again:")
        }
        if let fault = error.folderFault { return on(fault, task: task) }
        if let advice = onHSTS(error, task: task) { return advice }
        if error.code == .authRequired, let advice = onStored(error, task: task) { return advice }
        if error.code == .httpStatus, let advice = onStatus(error, task: task) { return advice }
        if error.code == .authRequired, error.details["status"] == 407 {
            return update(
                task, "--proxy URL",
                "Put user name and password into the proxy's URL (http://NAME:PASSWORD@HOST:PORT), and try again:")
        }
        if error.code == .diskFull, error.details["minimum"] != nil {
            return mayConfigure
                ? Advice(
                    "Free some space, or keep less of it free. The task then resumes by itself:",
                    "dlctl settings minimumFreeSpace=SIZE")
                : Advice(
                    "Free some space, or ask an administrator of the system's daemon to keep less of it free. The task then "
                        + "resumes by itself.")
        }
        guard let fault = error.details[CertificateFault.member]?.stringValue.flatMap(CertificateFault.init(rawValue:))
        else {
            if error.code == .limitReached, !mayConfigure {
                return Advice(
                    "Wait until other tasks have ended, or ask an administrator of the system's daemon for more.")
            }
            return on(error.code, task: task)
        }
        switch fault {
        case .expired, .notYetValid:
            return Advice(
                "Check this machine's clock: it says \(LocalTime.text(now)). If that is right, ask the server's operator "
                    + "for a valid certificate. Then try again:", "dlctl retry \(task)")
        case .wrongName:
            return update(task, "--url URL", "Correct the address, and try again:")
        case .revoked, .weak:
            return Advice(
                "Ask the server's operator for another certificate. Then try again:", "dlctl retry \(task)")
        case .selfSigned, .unknownIssuer: return on(error.code, task: task)
        }
    }

    /// Advice to change the task and to try again.
    private static func update(_ task: TaskID, _ options: String, _ sentence: String) -> Advice {
        Advice(sentence, "dlctl update \(task) \(options)", "dlctl retry \(task)")
    }

    /// Advice on a status (RFC 9110 section 15) whose usual cause is known; nil for other statuses.
    private static func onStatus(_ error: TransferError, task: TaskID) -> Advice? {
        let retry = "dlctl retry \(task)"
        return switch error.details["status"]?.integerValue {
        case 403?:
            update(
                task, "--url URL",
                "If the link has expired, give a new one. If the server wants a user name, give that instead (--user NAME). "
                    + "Then try again:")
        case 408?, 429?: Advice("Try again later:", retry)
        case (500...599)?: Advice("The server has a problem. Try again later:", retry)
        default: nil
        }
    }

    private static func on(_ fault: FolderFault, task: TaskID) -> Advice {
        let move = "dlctl update \(task) -d DIR"
        return switch fault {
        case .missing:
            Advice(
                "Move the folder back, create it again or mount its disk, and the task resumes by itself. To save elsewhere:",
                move)
        case .moved:
            Advice("Move the folder back, and the task resumes by itself. To save into its new place:", move)
        case .otherFileSystem:
            Advice(
                "Another file system is mounted over the folder, or its own is not mounted. Unmount the one or mount the "
                    + "other, and the task resumes by itself. To see what is mounted, and to save into what is there now:",
                "findmnt --target DIR", move)
        }
    }

    /// Advice on a body that would become so long that it was taken for an attack. It can be had as it was sent.
    static func onBomb(_ task: TaskView) -> Advice {
        let sentence =
            "Only if you trust the server, save the body as it was sent, under a name with its coding's ending:"
        return task.spec.kind == .download
            ? Advice(sentence, "dlctl update \(task.id) -o FILE.gz", "dlctl retry \(task.id)")
            : Advice(sentence, "dlctl add -o FILE.gz URL")
    }

    /// Advice on a server that cannot be reached over https, which HSTS chose; nil for other failures. A certificate that
    /// is not trusted is trusted as elsewhere: by its authority.
    private static func onHSTS(_ error: TransferError, task: TaskID) -> Advice? {
        guard error.code != .tlsUntrusted, let domain = error.details["hsts"]?["domain"]?.stringValue else {
            return nil
        }
        return Advice(
            "If the server does not offer https, forget that it asked for it, and try again:",
            "dlctl hsts remove \(ShellText.word(Printable.text(domain)))", "dlctl retry \(task)")
    }

    /// Advice after a search for credentials that failed: which stored ones to correct. nil if the task's own
    /// credentials are the usual way.
    private static func onStored(_ error: TransferError, task: TaskID) -> Advice? {
        guard let origin = error.details["protectionSpace"]?.stringValue else { return nil }
        let isProxy = error.details["isProxy"] == true
        let sentence: String
        if error.details["storedCredential"] != nil {
            sentence = "Store the right password, and try again:"
        } else if error.details["credentialHelper"] == "refused" {
            sentence = "Correct what the credential helper has, or store a password with dld; then try again:"
        } else if isProxy {
            sentence = "Store a user name and a password for the proxy, and try again:"
        } else {
            return nil
        }
        let add = "dlctl credential add \(ShellText.word(Printable.text(origin)))\(isProxy ? " --proxy" : "")"
        return Advice(sentence, add + " --username NAME", "dlctl retry \(task)")
    }

    /// Advice about a task that has ended. For a problem of the disk it may not have ended, because a task always waits
    /// for its disk.
    static func on(_ code: ErrorCode, task: TaskID) -> Advice {
        let retry = "dlctl retry \(task)"
        return switch code {
        case .badURL: update(task, "--url URL", "Correct the address, and try again:")
        case .badField, .unknownField, .tooLarge: Advice("Correct the request, and add the task again.")
        case .unsupported: Advice("This version of dld cannot do that. To list its features:", "dlctl info")
        case .tokenReused: Advice("Send the first specification again, or use a new token.")
        case .sessionInUse: Advice("Another program has that session open. Use another session.")
        case .sessionNotFound, .sessionInvalidated:
            Advice("Open the session first:", "dlctl session open NAME")
        case .taskNotFound: Advice("To list all tasks:", "dlctl list --all")
        case .taskWrongState: Advice("To see the task's state:", "dlctl show \(task)")
        case .decisionGone: Advice("To list the questions that are open:", "dlctl decisions")
        case .permissionDenied:
            update(task, "-d DIR", "Choose a folder that this user may read and write, and try again:")
        case .destinationExists:
            update(task, "--on-conflict rename", "Move the existing file away, or keep both; then try again:")
        case .destinationNotWritable:
            update(task, "-d DIR", "Make the folder writable, or choose another; then try again:")
        case .destinationBadPath:
            update(task, "-o FILE", "Choose another file name, and try again:")
        case .sourceUnreadable: Advice("Check the local file, and try again:", retry)
        case .sourceChanged:
            Advice(
                "Check the file. To send it as it is now, from the beginning (two versions are never mixed):",
                retry + " --source-changed")
        case .diskFull: Advice("Free some space. The task then resumes by itself.")
        case .diskQuota: Advice("Free some of your quota. The task then resumes by itself.")
        case .diskIO: Advice("Check that the disk is mounted and healthy. The task then resumes by itself.")
        case .networkDNS:
            update(task, "--url URL", "Check the name server. If the host's name is wrong, correct it; then try again:")
        case .networkConnect, .networkLost, .networkTimeout: Advice("Try again:", retry)
        case .tlsUntrusted:
            update(
                task, "--ca-file FILE",
                "Find out why before you trust this server. If you do trust it, name its certificate authority, and try "
                    + "again:")
        case .tlsFailed:
            Advice("Check the server's TLS versions and your certificate options; then try again:", retry)
        case .httpStatus:
            update(task, "--url URL", "Check the address. If it is wrong, correct it; then try again:")
        case .httpRedirectLimit:
            update(
                task, "-H 'Cookie: NAME=VALUE'",
                "The server redirects in a circle. If it wants a cookie, send one; then try again:")
        case .httpProtocol:
            update(
                task, "--url URL",
                "The server's answer is invalid. Name another address if you know one, and try again:")
        case .authRequired:
            update(task, "--user NAME", "Give a user name (or use --netrc or --bearer-file), and try again:")
        case .authFailed:
            update(task, "--user NAME", "Check user name and password, give them again, and retry:")
        case .validatorChanged:
            Advice(
                "Nothing. The bytes held could not be resumed safely, so the file is fetched again. If the server never says "
                    + "which version its parts belong to, the session's resumesUnproven takes them all the same.")
        case .integrityChecksum:
            update(
                task, "--checksum ALG:HEX",
                "Check the expected checksum. If it is right, the server's file is damaged or forged. If it is wrong, "
                    + "correct it; then fetch the file again:")
        case .integrityLength:
            update(task, "--url URL", "Ask the server's operator, or give another URL; then fetch it again:")
        case .rpcMalformed, .rpcUnknownMethod:
            Advice("This program and the daemon are of different versions. Restart the daemon.")
        case .deadlineExceeded:
            update(task, "--deadline TIME", "If the deadline has passed, set a later one; then try again:")
        case .cancelled: Advice("To start it again:", retry)
        case .plaintextRefused:
            update(task, "--url URL", "Use an https address, or allow plain http in the session; then try again:")
        case .conditionsRefused: Advice("Try again:", retry)
        case .cacheMiss: Advice("Add the task again, with a requestCachePolicy that may use the network.")
        case .helperFailed:
            Advice(
                "The helper program for this kind of URL failed; the daemon's log has what it said. Try again:", retry)
        case .helperProtocol:
            Advice(
                "The helper program for this kind of URL is defective. Report it to its author; then try again:", retry)
        case .limitReached: Advice("Wait until other tasks have ended, or raise the limit (dlctl settings).")
        case .shuttingDown: Advice("Wait until the daemon runs again.")
        case .stateNewer: Advice("Install the version that wrote the state folder, or a newer one.")
        case .internal:
            Advice("This is a defect. Please report it with the daemon's log and this:", "dlctl events --task \(task)")
        }
    }

    /// - Parameter mayConfigure: whether the user may change the daemon's settings.
    static func on(_ reason: QueueReason, task: TaskID, session: String, mayConfigure: Bool = true) -> Advice {
        let set = "dlctl session set \(ShellText.word(session))"
        let others = "To run more at once, ask an administrator of the system's daemon."
        return switch reason {
        case .slots where !mayConfigure: Advice("Nothing. It starts when another task ends. \(others)")
        case .user where !mayConfigure: Advice("Nothing. It starts when another task of its user ends. \(others)")
        case .hostSlots where !mayConfigure:
            Advice(
                "Nothing. It starts when another task of its host ends. Only an administrator can raise the daemon's limit. To "
                    + "raise your session's:", "\(set) httpMaximumConnectionsPerHost=N")
        case .slots:
            Advice("Nothing. It starts when another task ends. To run more at once:", "dlctl limit --tasks N")
        case .user:
            Advice(
                "Nothing. It starts when another task of its user ends. To run more at once:",
                "dlctl settings maximumConcurrentTasksPerUser=N")
        case .session:
            Advice(
                "Nothing. It starts when another task of its session ends. To run more at once:",
                "\(set) maximumConcurrentTasks=N")
        case .hostSlots:
            Advice(
                "Nothing. It starts when another task of its host ends. To run more at once, raise the smaller limit:",
                "dlctl limit --per-host N", "\(set) httpMaximumConnectionsPerHost=N")
        case .host:
            Advice("Nothing. The host is tried again by itself. To try now:", "dlctl retry \(task)")
        case .sessionPaused:
            Advice("To run the session's tasks:", "dlctl session resume \(ShellText.word(session))")
        }
    }

    /// Advice on a wait for `schedule`. A retry ends the wait for the task's own time, but not for the session's.
    static func onSchedule(_ task: TaskView, _ session: SessionView?) -> Advice {
        guard session?.configuration.schedule?.isEmpty == false else { return on(.schedule, task: task.id) }
        let unset = "dlctl session set \(ShellText.word(task.session)) schedule=default"
        let sentence = "Nothing. It starts when its time comes. To start it now, with all tasks of its session:"
        return task.spec.earliestBeginAt == nil
            ? Advice(sentence, unset) : Advice(sentence, unset, "dlctl retry \(task.id)")
    }

    static func on(_ reason: WaitReason, task: TaskID) -> Advice {
        let retry = "dlctl retry \(task)"
        return switch reason {
        case .retry: Advice("Nothing. It is tried again by itself. To try now:", retry)
        case .network:
            Advice("Nothing. It resumes by itself when the network is back. To try now:", retry)
        case .schedule: Advice("Nothing. It starts when its time comes. To start it now:", retry)
        case .disk: Advice("Free some space, or mount the disk. The task then resumes by itself.")
        case .authentication, .decision:
            Advice("To see what it asks, and how to answer:", "dlctl decisions")
        case .metered:
            Advice(
                "Nothing. It resumes by itself when that has changed. To run it anyway:",
                "dlctl resume --anyway \(task)")
        case .power:
            Advice(
                "Nothing. It resumes by itself on mains power and an unmetered network. To run it anyway:",
                "dlctl resume --anyway \(task)")
        case .portal: Advice("Log in to the network with a browser. The task then resumes by itself.")
        }
    }
}

/// Quotes words so that a shell reads them literally.
enum ShellText {
    static func word(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
                UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"):
                true
            default: false
            }
        }
        if isPlain, !text.isEmpty, !text.hasPrefix("-") { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
