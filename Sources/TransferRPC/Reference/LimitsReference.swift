import TransferModel

// The table of all limits for docs/protocol.md, made from the constants that the code checks.
extension ProtocolReference {
    static let aboutLimits = """
        No user may slow down or starve the others, so everything has a bound. A request beyond it is refused with \
        `request.bad_field`, `request.too_large` or `limit.reached`, and nothing of it is stored. Tasks and sessions that an \
        older daemon stored beyond a bound stay valid.
        """

    /// What is limited, and to what.
    static let limits: [[String]] =
        specification + session
        + [
            ["ids of a control method; `sessions`, `tasks` of events.subscribe and events.list", "\(Bounds.ids)"],
            [
                "`ids`, `clientTokens` of task.list; its `tags`; its `match`",
                "\(ListTasks.largestSelection); \(Bounds.tags); \(Bounds.match) bytes",
            ],
            [
                "a page of task.list, session.list and events.list",
                "\(ListTasks.largestLimit) entries, and \(size(Bounds.pageBytes)) of stored text, but at least one entry",
            ],
            ["a body in task.get with `secrets`", size(Bounds.shownBody)],
            [
                "questions of one task; credentials that one server may refuse; realm of a protection space",
                "\(Bounds.decisions); \(Bounds.credentialFailures); \(Bounds.realm) characters",
            ],
            [
                "servers and proxies that one task remembers credentials for; answer of decision.list",
                "\(Bounds.decisionSpaces); \(Bounds.listedDecisions) questions, and \(size(Bounds.pageBytes)), but at least one",
            ],
            [
                "servers whose keys one session trusts, or one user for good; keys of one server; certificates of one question (Base64)",
                "\(Bounds.trustedKeys); \(Bounds.keysOfServer), the oldest go; 32 KiB",
            ],
            [
                "credentials of one user and the user's sessions, those that were refused included",
                "\(Bounds.credentials)",
            ],
            [
                "a cookie's name and value; cookies of one registered domain, of one task, of one user; a `Cookie` field made of them",
                "\(Bounds.cookie) bytes; \(Bounds.cookiesOfDomain), \(Bounds.cookiesOfTask), \(Bounds.cookies); \(size(Bounds.cookieField))",
            ],
            [
                "cookies that waiting tasks of one user keep; the tasks that have waited longest lose theirs",
                size(Bounds.waitingCookies),
            ],
            [
                "hosts known for HSTS of one user, of one `ephemeral` session; of them those of one registered domain; over that, the host that asked longest ago goes",
                "\(Bounds.hstsHosts); \(Bounds.hstsHostsOfSite)",
            ],
            [
                "a `Strict-Transport-Security` field; a longer one is ignored, and no `max-age` lasts longer than ten years",
                size(Bounds.strictTransportSecurity),
            ],
            [
                "stored answers of one user, in memory and on the disk; one answer; variants of one URL",
                "\(size(Bounds.cacheMemoryOfOwner)), \(size(Bounds.cacheDiskOfOwner)); a twentieth of its cache; \(Bounds.cacheVariants)",
            ],
            ["`metrics` of a task; older entries go, and `metricsDropped` counts them", "\(Bounds.metrics)"],
            ["a piece of task.body", size(Int(ReadBody.largestPiece))],
            ["a piece of a stream", size(Bounds.streamPiece)],
            ["sessions of one user that have not ended", "\(Bounds.sessions)"],
            [
                "volatile sessions of one user; their tasks, including ended ones; their kept bodies",
                "\(Bounds.sessions); \(Bounds.volatileTasks); \(size(Int(Bounds.volatileBodies)))",
            ],
            ["durable subscribers of one user", "\(Bounds.subscribers)"],
            [
                "launched programs running at the same time; a further one waits for its `launchInterval`",
                "\(Bounds.launchesOfUser) of one user, \(Bounds.launches) in total",
            ],
            ["identifiers of sessions, names of subscribers", "1 to \(Bounds.name) bytes"],
            ["subscriptions of one connection", "\(Bounds.subscriptions)"],
            ["a line; brackets in it", "\(size(Bounds.line)); \(Bounds.nesting) deep"],
            ["`tasks` of task.add", "\(Bounds.tasks)"],
            [
                "requests in lines of more than \(size(Bounds.longLine))",
                "one of each user at a time (root excepted), \(Bounds.longRequests) in total; the others wait",
            ],
            ["a batch; its answers together", "\(Bounds.batch) requests; \(size(Bounds.waitingAnswers))"],
            ["requests of one connection that are answered at the same time", "\(Bounds.requestsInFlight)"],
            [
                "read-only requests of one user (lists, figures) that are answered at the same time",
                "\(Bounds.looks); the others wait, as does a client with more than \(size(Bounds.unreadByLookers)) to read",
            ],
            [
                "unfinished and waiting lines, beyond the first 64 KiB of each connection",
                "\(size(Bounds.unfinishedLinesOfUser)) of one user (root excepted), \(size(Bounds.unfinishedLines)) in total",
            ],
            [
                "output waiting for a client that does not read; for all clients of one user (root excepted)",
                "\(size(Bounds.waitingAnswers)); \(size(2 * Bounds.waitingAnswersOfUser))",
            ],
            [
                "events of volatile sessions waiting on a connection",
                "\(2 * Bounds.waitingAnswersOfUser / Bounds.waitingEvent); fewer while other output waits",
            ],
            ["connections; of one user", "`maximumConnections`; `maximumConnectionsPerUser` (root excepted)"],
            ["tasks of one user that have not ended", "`maximumQueuedTasksPerUser`"],
        ]

    private static let specification: [[String]] = [
        ["`url`, each of `mirrors` and of `s3`, `proxy`", "\(Bounds.url) bytes"],
        ["`mirrors`", "\(Bounds.mirrors)"],
        ["`method`", "\(Bounds.method) bytes"],
        [
            "`headers`, `httpAdditionalHeaders`",
            "\(Bounds.headers), with \(size(Bounds.headerBytes)) of names and values in total",
        ],
        ["`username`, `password`, `bearer`", "\(Bounds.secret) bytes each"],
        ["every path", "\(Bounds.path) bytes"],
        ["`destination.filename`", "\(Bounds.fileName) bytes"],
        ["`contentType`, `fileName`, `formField`", "\(Bounds.text) bytes each"],
        [
            "`formFields`",
            "\(Bounds.formFields), with \(size(Bounds.formFieldBytes)) of names and values in total",
        ],
        ["`uploadMetadata`", "\(size(Bounds.metadataBytes)) of names and values in total"],
        ["`s3.partURLs`", "\(Bounds.s3Parts)"],
        [
            "`pieces`",
            "\(Bounds.pieces), with \(size(Bounds.pieceDigits)) of digits in total; each at least \(size(Int(Bounds.leastPiece))), unless it is the only one",
        ],
        ["`connections`, `connectionsPerDownload`", "\(Bounds.connections)"],
        ["`description`", "\(Bounds.description) bytes"],
        ["`tags`", "\(Bounds.tags) of 1 to \(Bounds.name) bytes"],
        ["`attributes`", "\(size(Bounds.attributeBytes)) of names and values in total"],
        ["`clientToken`", "1 to \(Bounds.name) bytes"],
        ["`timeoutIntervalForRequest`, `timeoutIntervalForResource`", "ten years (\(Int64(Bounds.longestTimeout)) s)"],
        ["`retry.firstDelay`, `retry.longestDelay`", "\(Int64(Bounds.longestDelay)) s"],
        ["the answer kept for a data task, decoded", size(Bounds.dataAnswer)],
        [
            "a decoded body",
            "\(Bounds.decodedRatio) times its coded length, or \(size(Int(Bounds.decodedAlways))) if that is more (`http.protocol`)",
        ],
    ]

    private static let session: [[String]] = [
        ["`exceptionDomains`", "\(Bounds.exceptionDomains) domains"],
        ["`schedule`", "\(Bounds.scheduleWindows) windows"],
        ["`directories`; `types` and `names` of each", "\(Bounds.directories); patterns of \(Bounds.name) bytes"],
        ["`launchInterval`", "\(Bounds.words(Bounds.launchInterval)) s"],
        ["`launch.argv`", "\(Bounds.arguments), with \(size(Bounds.argumentBytes)) in total"],
        ["`launch.unit`", "\(Bounds.name) bytes"],
        ["`progressInterval` of a subscription", "\(Bounds.words(Bounds.progressInterval)) s, or 0"],
    ]

    private static func size(_ bytes: Int) -> String {
        bytes.isMultiple(of: 1 << 20) ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
    }
}
