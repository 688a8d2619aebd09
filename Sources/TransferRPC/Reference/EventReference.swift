import TransferModel

// What each type of event means, and its members besides the fixed ones.
extension ProtocolReference {
    static func summary(_ type: EventType) -> String {
        switch type {
        case .taskAdded: "A task was added."
        case .taskStarted: "An attempt began."
        case .taskRedirected:
            "The server sent the request elsewhere: 301, 302, 303, 307 or 308 with a Location, at most 20 times. 303, and 301 or 302 after a POST, become a GET without a body; HEAD stays HEAD. An upload is repeated by 301 and 302 if only scheme, host or a slash at the end of the path differ. It fails with `http.protocol` after any other, and after a 303 to anything but a POST that was sent whole. Other statuses are final: 300, 304, 305 and 306 are never followed. With `hsts`, no server did: the URL is asked over https, with the same method and body."

        case .taskResponse: "The header of the answer arrived."
        case .taskResumed: "The attempt keeps the bytes that it holds, and fetches the rest."
        case .taskRestarted:
            "Bytes were dropped: those of `pieces`, or otherwise all of them, and the download begins at 0."
        case .taskProgress: "Progress of a running task; never stored, no `sequence`."
        case .taskWaiting: "The task cannot run now."
        case .taskDecision:
            "The task asks a client to decide, and waits for the answer (`decision.answer`). Each question has one such event."
        case .taskPaused: "A client paused the task."
        case .taskQueued: "The task waits for a slot. With `explanation`, it ran before and gave way without a failure."
        case .taskUpdated: "A client changed the task."
        case .taskCompleted: "The file is at its final name."
        case .taskFailed: "The task ended without success."
        case .taskCancelled: "A client cancelled the task."
        case .taskRemoved: "The task left the history."
        case .sessionOpened: "A session was created."
        case .sessionPaused: "A client paused a session: none of its tasks runs."
        case .sessionResumed: "The tasks of a paused session may run again."
        case .sessionDrained: "The last unfinished task of a session ended."
        case .sessionInvalidated: "A session ended."
        case .settingsChanged: "Global settings changed."
        case .eventsLagged: "Events after the requested number have been removed; no `sequence`."
        }
    }

    /// Identifies the task: the URL has no credentials and at most 2048 bytes.
    private static let identity = "`url`, `clientToken`?, `tags`?"

    static func members(_ type: EventType) -> String {
        switch type {
        case .taskAdded: "`state`, \(identity)"
        case .taskStarted: "`attempt`: 1 for the first"
        case .taskResponse: "`response`: a [Response](#response)"
        case .taskRedirected: "`url`, `status`, `hsts`?: true"
        case .taskResumed: "`offset`, `expected`: -1 if unknown"
        case .taskRestarted: "`code`, `message`?, `pieces`?: numbers from 0"
        case .taskProgress:
            "`phase`, `bytesReceived`, `bytesExpected`, `bytesSent`, `bytesToSend`, `bytesDecoded`?, `rate`, `eta`?, `resumedFrom`?"
        case .taskWaiting: "`reason`, `nextAttemptAt`?, `error`?: an [Error](#error)"
        case .taskDecision:
            "`decision`, `kind`, `default` and the question's other members, as in a [Decision](#decision)"
        case .taskCompleted:
            "`file`?, `bytes`, `duration` (seconds of the attempt that completed it), `verified`, `sha256`?, `mirrors`?: those that its bytes came from, without the task's own URL, \(identity)"
        case .taskUpdated: "`fields`: their names"
        case .taskFailed: "`error`: an [Error](#error), \(identity)"
        case .settingsChanged: "`settings`: the new values by name, null for those removed"
        case .eventsLagged: "`firstSequence`: the first number that is still stored"
        case .taskQueued:
            "`explanation`?: why it no longer runs, `reason`?: the limit, as in a queued [Task](#task)"
        case .taskPaused, .taskCancelled, .taskRemoved, .sessionOpened, .sessionPaused, .sessionResumed,
            .sessionDrained, .sessionInvalidated:
            ""
        }
    }
}
