import TransferModel

/// The methods of the protocol. What they take and return is in the folder of this name.
public enum Methods {
    /// In the order of the reference.
    public static let all: [any RPCMethod] = [
        daemonInfo, daemonStats, daemonMetrics, getSettings, listSettings, setSettings, discover, openSession,
        getSession,
        listSessions, pauseSession, resumeSession, finishSession, invalidateSession, addTasks, getTask, listTasks,
        pauseTasks, resumeTasks, cancelTasks, retryTasks, removeTasks, updateTask, takeResumeData, readBody,
        giveCredit, listDecisions, answerDecision, listCookies, setCookies, removeCookies, cacheInfo, removeCached,
        listCredentials, setCredential, removeCredentials, listHSTS, removeHSTS, listTrust, removeTrust, subscribe,
        unsubscribe, acknowledgeEvents, forgetSubscriber, listEvents,
    ]

    private static let controlErrors: [ErrorCode] = [.badField, .permissionDenied, .sessionNotFound, .sessionInUse]

    public static let daemonInfo = Method<Nothing, DaemonInfo>(
        "daemon.info", "Version, mode, paths and features of this daemon.")
    public static let daemonStats = Method<Nothing, DaemonStats>(
        "daemon.stats",
        "The peer's tasks by state and running transfers (all users' for administrators); rates, totals, memory, connections and log head of the whole daemon."
    )
    public static let daemonMetrics = Method<Nothing, DaemonMetrics>(
        "daemon.metrics",
        """
        Figures for monitoring, beside those of daemon.info and daemon.stats: the peer's tasks by state, kind and reason (all \
        users' for administrators), and counters of the whole daemon since its start. `dlctl metrics` prints all of them for \
        Prometheus.
        """)
    public static let getSettings = Method<Nothing, SettingsView>(
        "settings.get", "Every global setting with its value and origin.")
    public static let listSettings = Method<Nothing, SettingsInForce>(
        "settings.list",
        "Every setting in force and its source, including those that only files, environment and command line can set.")
    public static let setSettings = Method<SetSettings, SettingsView>(
        "settings.set",
        "Changes settings durably, also for running transfers; null removes a run-time value. Returns the same as settings.get.",
        [.permissionDenied, .badField, .diskFull])
    public static let discover = Method<Nothing, OpenRPCDocument>(
        "rpc.discover", "The OpenRPC document of this daemon.")
    public static let openSession = Method<OpenSession, SessionView>(
        "session.open",
        """
        Creates a session, or attaches to the one of that name. `configuration` changes the members it names; null unsets \
        one. The name of an invalidated session is free: it opens a new session with a new configuration. A volatile \
        session is bound to the connection that opens it, and ends with it. In others' sessions, administrators change \
        only limits, times, the schedule, `retry` and which networks are used.
        """,
        [
            .badField, .unsupported, .permissionDenied, .sourceUnreadable, .destinationBadPath, .destinationNotWritable,
            .diskFull, .limitReached, .sessionInUse,
        ])
    public static let getSession = Method<SessionReference, SessionView>(
        "session.get", "One session with its configuration, state, task counts and unacknowledged events.",
        [.sessionNotFound, .sessionInUse, .permissionDenied])
    public static let listSessions = Method<ListSessions, ListedSessions>(
        "session.list",
        "Durable sessions of the peer, or of the owner that an administrator names, page by page; `nextCursor` of one page is `cursor` of the next.",
        [.badField, .permissionDenied])
    public static let pauseSession = Method<SessionReference, SessionView>(
        "session.pause",
        """
        Runs none of the session's tasks until session.resume, including tasks added later. Running tasks are queued again \
        and keep their bytes; no other state changes. `timeoutIntervalForResource` stops counting, `deadlineAt` does not. The \
        pause survives restarts.
        """,
        [.sessionNotFound, .sessionInvalidated, .sessionInUse, .permissionDenied, .diskIO])
    public static let resumeSession = Method<SessionReference, SessionView>(
        "session.resume", "Lets the tasks of a paused session run; tasks that were paused one by one stay paused.",
        [.sessionNotFound, .sessionInvalidated, .sessionInUse, .permissionDenied])
    public static let finishSession = Method<SessionReference, SessionView>(
        "session.finish", "Lets the session accept no more tasks, and invalidates it when the last one has ended.",
        [.sessionNotFound, .sessionInUse, .permissionDenied, .badField])
    public static let invalidateSession = Method<SessionReference, SessionView>(
        "session.invalidate", "Cancels the session's tasks and invalidates it.",
        [.sessionNotFound, .sessionInUse, .permissionDenied, .badField])
    public static let addTasks = Method<AddTasks, AddedTasks>(
        "task.add",
        """
        Queues tasks in one transaction, all or none. Once the call has returned, they survive a crash and a power loss, \
        unless their session is volatile: only its connection sees such tasks, and they end with it.
        """,
        [
            .badURL, .badField, .unsupported, .tooLarge, .sessionNotFound, .sessionInvalidated, .sessionInUse,
            .permissionDenied, .destinationBadPath, .destinationNotWritable, .sourceUnreadable, .diskFull,
            .limitReached, .tokenReused,
        ])
    public static let getTask = Method<GetTask, TaskView>(
        "task.get",
        "Everything about one task; with `secrets`, which only its owner may set, the complete request and answer.",
        [.taskNotFound, .permissionDenied])
    public static let listTasks = Method<ListTasks, ListedTasks>(
        "task.list",
        """
        Tasks page by page; `nextCursor` of one page is `cursor` of the next. Volatile tasks of this connection come after the \
        durable ones, and before them with the order `newest`.
        """,
        [.badField, .permissionDenied, .sessionInUse])
    public static let pauseTasks = Method<ControlSelection, ControlResult>(
        "task.pause", "Pauses tasks until task.resume: no traffic and no timeouts.",
        controlErrors)
    public static let resumeTasks = Method<ControlSelection, ControlResult>(
        "task.resume", "Queues paused tasks again; they resume from the bytes they hold.",
        controlErrors)
    public static let cancelTasks = Method<CancelTasks, ControlResult>(
        "task.cancel", "Cancels tasks and removes the bytes received so far, unless `keepPartial` is set.",
        controlErrors)
    public static let retryTasks = Method<RetryTasks, ControlResult>(
        "task.retry", "Queues failed, cancelled and waiting tasks at once.",
        controlErrors)
    public static let removeTasks = Method<RemoveTasks, ControlResult>(
        "task.remove",
        """
        Removes ended tasks from the history; cancel other tasks first. A kept part file is removed too: resume data of the \
        task is then useless, unless another task was added with it.
        """,
        controlErrors)
    public static let updateTask = Method<UpdateTask, TaskView>(
        "task.update",
        """
        Changes a task. A failed or cancelled one can be changed too, and then restarted with `task.retry`; a completed one \
        only in `description`, `attributes`, `priority`, `rateLimit` and `position`. With a new URL, new S3 URLs, mirrors, headers, \
        credentials, proxy, interface or checksum, a running or waiting task starts another attempt at once. It keeps its bytes \
        if the server proves that it has the same version. With a new destination its part file moves. Administrators change only \
        `priority`, `rateLimit`, `position`, `description`, `earliestBeginAt`, `deadlineAt`, `isDiscretionary` and which \
        networks others' tasks may use.
        """,
        [
            .taskNotFound, .taskWrongState, .badField, .badURL, .unsupported, .permissionDenied, .sourceUnreadable,
            .destinationBadPath, .destinationNotWritable, .diskIO,
        ])
    public static let takeResumeData = Method<TaskReference, TakenResumeData>(
        "task.resumeData",
        """
        Cancels a download, unless it has failed or was cancelled with `keepPartial`, and returns a self-contained blob for \
        task.add. One that was cancelled and keeps no bytes has none. The \
        blob has no bytes and no credentials, but the task's full URLs, including signatures: keep it as private as those. \
        The bytes stay in the task's part file until the task is removed, its history expires, or another task takes them \
        over.
        """,
        [.taskNotFound, .taskWrongState])
    public static let readBody = Method<ReadBody, BodyData>(
        "task.body",
        "The response body of a `data` task without its content codings, in pieces; it is kept as long as the task.",
        [.taskNotFound, .taskWrongState])
    public static let giveCredit = Method<GiveCredit, Credit>(
        "task.credit",
        "Allows this many more bytes of the body of a task with `stream` to be sent, as [`task.data`](#streams) notifications. You may give credit as soon as the task is added, and amounts add up. Without credit, none of the body is read.",
        [.taskNotFound])
    public static let listDecisions = Method<ListDecisions, ListedDecisions>(
        "decision.list", "Open questions of tasks, the oldest first.",
        [.badField, .permissionDenied, .sessionInUse])
    public static let answerDecision = Method<AnswerDecision, AnsweredDecision>(
        "decision.answer",
        """
        Answers a question; durable when it returns. The first answer counts. The same answer may be repeated as \
        long as the task exists, for its newest \(Bounds.decisions) questions. A different answer is refused with \
        `decision.gone`, and so is an answer to a closed question. Administrators may answer for others, but may not give credentials, requests or destinations, or trust servers.
        """,
        [
            .decisionGone, .badField, .badURL, .unsupported, .permissionDenied, .limitReached, .destinationBadPath,
            .sourceUnreadable,
        ])
    public static let listCookies = Method<ListCookies, ListedCookies>(
        "cookies.list", "The caller's own cookies, in the order in which they were set. Only `secrets` adds `value`.",
        [.badField, .sessionNotFound, .sessionInUse])
    public static let setCookies = Method<SetCookies, StoredCookies>(
        "cookies.set",
        """
        Stores cookies of the caller. Each replaces the one with the same name, domain, path and `hostOnly`; an expired one \
        only removes it. If one is refused, none is stored. Durable when it returns, except in a volatile session. If the store \
        fails, the cookies are in force, and are stored when the disk works again. No cookie lives longer than 400 days.
        """,
        [.badField, .sessionNotFound, .sessionInUse, .diskFull, .diskIO])
    public static let removeCookies = Method<RemoveCookies, RemovedCookies>(
        "cookies.remove",
        "Removes the caller's cookies that match every given parameter; without any, all of them. Durable when it returns.",
        [.badField, .sessionNotFound, .sessionInUse, .diskFull, .diskIO])
    public static let cacheInfo = Method<CacheInfo, Caches>(
        "cache.info",
        """
        How much the caller's caches hold, by storage: the caller's own and those of the caller's sessions. Storages of \
        volatile sessions of other connections are left out.
        """,
        [.badField, .sessionInUse])
    public static let removeCached = Method<RemoveCached, RemovedCached>(
        "cache.remove",
        "Removes the caller's stored answers that match every given parameter; without any, all of them.",
        [.badField, .badURL, .sessionInUse])
    public static let listCredentials = Method<ListCredentials, ListedCredentials>(
        "credentials.list",
        "The caller's own credentials, in the order in which they were stored. Passwords are never returned.",
        [.badField, .sessionNotFound, .sessionInUse])
    public static let setCredential = Method<SetCredential, SetCredentialResult>(
        "credentials.set",
        """
        Stores a credential of the caller. It replaces the one with the same protection space and user name, and no longer \
        counts as refused. Tasks that ask no client use the default credential of a protection space. Durable when it \
        returns, unless it is kept in memory only. If the store fails, the credential is in force, and is stored when the \
        disk works again.
        """,
        [.badField, .sessionNotFound, .sessionInUse, .limitReached, .diskFull, .diskIO])
    public static let removeCredentials = Method<RemoveCredentials, RemovedCredentials>(
        "credentials.remove",
        """
        Removes the caller's credentials that match every given realm, method and user name. Durable when it returns. A \
        running task continues with the credential that it has already sent.
        """,
        [.badField, .sessionNotFound, .sessionInUse, .diskFull, .diskIO])
    public static let listHSTS = Method<HSTSSelection, ListedHSTS>(
        "hsts.list",
        "Hosts that have asked to be reached over https alone (RFC 6797), as the caller's tasks have learned them, by name.",
        [.badField, .sessionNotFound, .sessionInUse])
    public static let removeHSTS = Method<HSTSSelection, RemovedHSTS>(
        "hsts.remove",
        "Forgets hosts that the caller's tasks reach over https alone, until they ask for it again. Durable when it returns.",
        [.badField, .sessionNotFound, .sessionInUse, .diskFull, .diskIO])
    public static let listTrust = Method<TrustSelection, ListedTrust>(
        "trust.list",
        """
        TLS servers whose keys the caller trusts for good, because an answer `trust` said `permanent`, by name. Tasks of \
        sessions that ask for challenges trust these keys without a question, except in `ephemeral` sessions.
        """,
        [.badField])
    public static let removeTrust = Method<TrustSelection, RemovedTrust>(
        "trust.remove",
        """
        Forgets the keys of TLS servers that the caller trusts for good: the next task that meets such a server asks again. \
        Durable when it returns. A task that was answered, or that runs, keeps its trust until it ends.
        """,
        [.badField, .diskFull, .diskIO])
    public static let subscribe = Method<Subscribe, Subscribed>(
        "events.subscribe",
        """
        Replays stored events from a number on, then sends new ones, each once and without a gap, as `event` notifications. \
        Events of volatile sessions have no number: they are sent as they happen, to the connection that has the session.
        """,
        [.badField, .permissionDenied, .limitReached, .diskFull])
    public static let unsubscribe = Method<Unsubscribe, Nothing>(
        "events.unsubscribe", "Ends a subscription of this connection.",
        [.badField])
    public static let acknowledgeEvents = Method<AcknowledgeEvents, Nothing>(
        "events.ack",
        "Acknowledges every event up to this one for a durable subscriber. A new name becomes known; the number never decreases.",
        [.badField, .diskFull])
    public static let forgetSubscriber = Method<ForgetSubscriber, Nothing>(
        "events.forget", "Forgets a durable name and its acknowledged number.",
        [.badField])
    public static let listEvents = Method<ListEvents, ListedEvents>(
        "events.list", "Stored events page by page, oldest first; `nextAfter` of one page is `after` of the next.",
        [.badField, .permissionDenied])
}
