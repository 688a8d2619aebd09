/// The state of a task; `TransferCore.TaskMachine` defines the transitions.
public enum TaskState: String, Word {
    case queued, running, waiting, paused, completed, failed, cancelled

    public var isFinal: Bool {
        switch self {
        case .completed, .failed, .cancelled: true
        case .queued, .running, .waiting, .paused: false
        }
    }
}

/// What a running task is doing.
public enum TaskPhase: String, Word {
    case connecting, deciding, transferring, verifying, finishing
    /// The program of `credentialHelper` is asked.
    case authenticating
    /// A body that came coded is decoded into the file.
    case decoding
}

/// Why a waiting task cannot run now.
public enum WaitReason: String, Word {
    case retry, network, schedule, disk, authentication, decision, metered, power, portal
}

/// What a queued task waits for. All slots of the daemon (`slots`), its owner (`user`), its session (`session`) or its host
/// (`hostSlots`) are taken; the host does not answer or asked for a pause (`host`); or the session is paused
/// (`sessionPaused`).
public enum QueueReason: String, Word {
    case slots, user, session, hostSlots, host, sessionPaused
}

public enum TaskKind: String, Word {
    case download, upload, data
}

public enum SessionKind: String, Word {
    case background, `default`, ephemeral
}

public enum SessionState: String, Word {
    case active, finishing, invalidated
}

/// What delivery does if a file already has the final name.
public enum ConflictPolicy: String, Word {
    case rename, overwrite, fail
}

public enum TLSVersion: String, Word {
    case v10 = "1.0"
    case v11 = "1.1"
    case v12 = "1.2"
    case v13 = "1.3"
}

public enum HTTPVersion: String, Word {
    case v11 = "1.1"
    case v2 = "2"
}

public enum Durability: String, Word {
    case full, relaxed
}

public enum DigestAlgorithm: String, Word {
    case md5
    case sha1 = "sha-1"
    case sha256 = "sha-256"
    case sha384 = "sha-384"
    case sha512 = "sha-512"

    /// Hexadecimal digits in a value of this algorithm.
    public var hexLength: Int {
        switch self {
        case .md5: 32
        case .sha1: 40
        case .sha256: 64
        case .sha384: 96
        case .sha512: 128
        }
    }
}

public enum EventType: String, Word {
    case taskAdded = "task.added"
    case taskStarted = "task.started"
    case taskRedirected = "task.redirected"
    case taskResponse = "task.response"
    case taskResumed = "task.resumed"
    case taskRestarted = "task.restarted"
    case taskProgress = "task.progress"
    case taskWaiting = "task.waiting"
    case taskDecision = "task.decision"
    case taskPaused = "task.paused"
    case taskQueued = "task.queued"
    case taskUpdated = "task.updated"
    case taskCompleted = "task.completed"
    case taskFailed = "task.failed"
    case taskCancelled = "task.cancelled"
    case taskRemoved = "task.removed"
    case sessionOpened = "session.opened"
    case sessionPaused = "session.paused"
    case sessionResumed = "session.resumed"
    case sessionDrained = "session.drained"
    case sessionInvalidated = "session.invalidated"
    case settingsChanged = "settings.changed"
    case eventsLagged = "events.lagged"
}
