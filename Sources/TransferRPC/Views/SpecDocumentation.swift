import TransferModel

extension TaskPriority {
    static let wireType = WireType.either([.choice(["low", "normal", "high"]), .number])
}

extension HeaderField {
    static let wireType = WireType.list(.list(.string))
}

extension TaskSpec: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .kind:
            .optional(
                .oneOf(TaskKind.self),
                "`download` to a file (default), `upload` of a file, `data`: a request whose response is kept, or sent to the client as it arrives (`stream`)."
            )
        case .url: .optional(.string, "The URL; required unless `resumeData` is given.")
        case .method: .optional(.string, "HTTP method; default: that of the kind and protocol.")
        case .headers:
            .optional(
                HeaderField.wireType,
                "HTTP header fields as [name, value], in order. A data task that sets its own Accept-Encoding gets the body as it was sent. Other data tasks ask for the content codings that dld supports, and keep the decoded body."
            )
        case .body: .optional(.object(RequestBody.self), "HTTP request body; for uploads, instead of `source`.")
        case .destination:
            .optional(
                .object(Destination.self),
                "Downloads: where the file goes; default: the session's `directory`. A coded body (gzip, deflate, br, zstd) is decoded at delivery, unless the name or the media type is that of the format."
            )
        case .conflictPolicy:
            .optional(.oneOf(ConflictPolicy.self), "What delivery does if a file already has the name.")
        case .checksum: .optional(.object(Checksum.self), "Digest of the delivered file.")
        case .size:
            .optional(
                .byteCount,
                "Downloads: length of the file. Mirrors with another length are not used; if there is no other, the task "
                    + "fails (`integrity.length`).")
        case .pieces:
            .optional(
                .object(PieceDigests.self),
                "Downloads: digests of its pieces. Only wrong pieces are fetched again, from another mirror first.")
        case .priority: .optional(TaskPriority.wireType, "`low` (0.25), `normal` (0.5), `high` (0.75), or 0 to 1.")
        case .startPaused: .optional(.boolean, "True: added as `paused`.")
        case .earliestBeginAt: .optional(.time, "Not before this time.")
        case .deadlineAt:
            .optional(.time, "Fails at this time unless it has ended; one that has passed fails it at once.")
        case .rateLimit: .optional(.byteRate, "Of this task.")
        case .proxy: .optional(.string, "URL with scheme http, https, socks5 or socks5h, or `none`.")
        case .username: .optional(.string, "For Basic, Digest, FTP and SFTP.")
        case .password: .optional(.string, "Of `username`; never shown again.")
        case .cookies:
            .optional(
                .list(.object(Cookie.self)),
                "Up to \(Bounds.cookiesOfTask), as in `cookies.set`; never shown again. The task then has a jar of its own, whatever its session's `httpCookieStorage`, and each attempt after a restart of the daemon begins with them anew."
            )
        case .bearer: .optional(.string, "Token for `Authorization: Bearer`; never shown again.")
        case .netrc: .optional(.string, "Path of a netrc file.")
        case .httpVersion: .optional(.oneOf(HTTPVersion.self), "Newest version to use.")
        case .preserveTime: .optional(.boolean, "True: the file gets the server's modification time.")
        case .description: .optional(.string, "Free text.")
        case .tags: .optional(.list(.string), "Free words.")
        case .clientToken:
            .optional(
                .string,
                "1 to 255 bytes, shown in the task and in its events. If an owner repeats a token within 24 h, the answer is "
                    + "the task it added (`existing`), even if that was removed. With another specification or session it "
                    + "is refused (`request.token_reused`).")
        case .resumeData: .optional(.string, "The result of task.resumeData.")
        case .connections:
            .optional(
                .integer,
                "Downloads over http and https: connections opened at once, 1 to 64, if the server supports ranges and has a strong validator; default: the session's `connectionsPerDownload`."
            )
        case .mirrors:
            .optional(
                .list(.string),
                "Downloads: other URLs of the same file (http, https, ftp, ftps, sftp), tried in order after a failure. With "
                    + "`checksum`, or a SHA-2 digest from the server, parts come from several at once over http and https."
            )
        case .stream:
            .optional(
                .boolean,
                "Data tasks of volatile sessions. True: the body is not kept but sent as it arrives ([Streams](#streams)); default: false."
            )
        case .requestCachePolicy:
            .optional(
                .oneOf(RequestCachePolicy.self),
                "Data tasks of volatile sessions: what is done with stored answers ([cache](cache.md)); default: the session's."
            )
        case .source: .optional(.object(SourceFile.self), "The file to send; do not change it until it is sent.")
        case .uploadProtocol:
            .optional(
                .choice(["auto", "put", "post", "multipart", "tus", "resumable", "contentRange", "s3Multipart"]),
                "How the file is sent. `auto` asks the server, and uses PUT if it has no upload protocol: to the URL or, if the "
                    + "URL ends in a slash, to the file's name below it. ftp, ftps and sftp have their own protocol and treat "
                    + "a slash in the same way.")
        case .formField: .optional(.string, "`multipart`: name of the file's field; default: `file`.")
        case .formFields: .optional(.map(.string), "`multipart`: other fields; never shown again.")
        case .fileName: .optional(.string, "Name sent to the server or given to the file; default: the source's.")
        case .contentType: .optional(.string, "Media type of the file.")
        case .uploadMetadata: .optional(.map(.string), "`tus`: Upload-Metadata.")
        case .interopVersion: .optional(.integer, "`resumable`: 3, 5, 6 or 8 (default).")
        case .uploadCreation:
            .optional(
                .choice(["careful", "optimistic"]),
                "`resumable`: create an empty upload first (default), or send data with the creation and rely on 104.")
        case .uploadChecksum:
            .optional(.oneOf(DigestAlgorithm.self), "Digest to send, if the protocol supports one.")
        case .s3: .optional(.object(S3Upload.self), "`s3Multipart`: presigned URLs; never shown again.")
        case .caFile, .clientCertificate, .tlsMinimumVersion, .timeoutIntervalForRequest, .timeoutIntervalForResource,
            .retry, .durability, .allowsArbitraryLoads, .acceptsAnyStatus,
            .waitsForConnectivity:
            inherited(key)
        }
    }

    /// Settings that a task may override are documented once, for the session.
    private static func inherited(_ key: CodingKeys) -> Field {
        guard let setting = SessionConfiguration.CodingKeys(rawValue: key.rawValue) else {
            return .optional(.any, "As the session's.")
        }
        return SessionConfiguration.field(setting)
    }
}

extension SessionConfiguration: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .timeoutIntervalForRequest: .optional(.seconds, "Longest time without a byte; 60.")
        case .timeoutIntervalForResource: .optional(.seconds, "For the whole task, paused time excluded; 7 days.")
        case .httpMaximumConnectionsPerHost:
            .optional(.integer, "Tasks on one host; the smaller of this and the global setting applies.")
        case .httpAdditionalHeaders:
            .optional(HeaderField.wireType, "Sent with each request that does not set the field.")
        case .proxy: .optional(.string, "URL with scheme http, https, socks5 or socks5h, or `none`.")
        case .tlsMinimumVersion: .optional(.oneOf(TLSVersion.self), "Oldest TLS version to accept.")
        case .caFile: .optional(.string, "Path of a PEM file with the authorities to trust, instead of the system's.")
        case .clientCertificate: .optional(.object(ClientCertificate.self), "For servers that ask for one.")
        case .allowsArbitraryLoads:
            .optional(
                .boolean,
                "False: unencrypted transfers fail with `policy.plaintext_refused`; default: true. A task's value wins."
            )
        case .exceptionDomains:
            .optional(
                .map(.object(DomainException.self)),
                """
                Rules of their own for domains, by name or address, at most \(Bounds.exceptionDomains). The exception of the host's \
                name counts, else that of the longest domain above it with `includesSubdomains`. Names beyond ASCII are \
                compared as A-labels. They hold at each redirect too. What a task says itself goes before.
                """)
        case .hsts:
            .optional(
                .boolean,
                """
                True: hosts that ask for it in their answers over https (Strict-Transport-Security, RFC 6797) are reached over https \
                alone, first requests and redirects alike. The owner's sessions share what they learn; an `ephemeral` one learns \
                for itself, in memory. Default: true, but false for `background`.
                """)
        case .acceptsAnyStatus:
            .optional(
                .boolean,
                "True: every final HTTP response completes the task, whatever its status, and is not retried; default: false. Its body is delivered or kept like any other, and compared with `checksum` and `size`. Such a download uses one connection. A task's value wins."
            )
        case .waitsForConnectivity:
            .optional(
                .boolean,
                "False: a task fails at once (`network.*`) if there is no network, no address for the name, or no connection. `background` sessions always wait, regardless of this; others do so if this is true. A task's value wins."
            )
        case .sendsLaunchEvents:
            .optional(
                .boolean,
                "True: `launch` is started for final events, and for open questions, that `subscriber` has not acknowledged. See [services.md](services.md)."
            )
        case .asks:
            .optional(
                .list(.oneOf(DecisionKind.self)),
                "Decisions that are put to a client (`task.decision`, `decision.answer`); others follow their defaults. `cache` concerns data tasks of `default` and `ephemeral` sessions. See `daemon.info.features`: `decisions.*`."
            )
        case .subscriber:
            .optional(
                .string,
                "Durable name that acknowledges for this session; a new one starts at the head when the session is opened."
            )
        case .launch: .optional(.object(LaunchSpec.self), "The program or unit to start.")
        case .launchInterval:
            .optional(
                .seconds,
                "Shortest time between two starts, \(Bounds.words(Bounds.launchInterval)); 60. See [services.md](services.md)."
            )
        case .directory: .optional(.string, "Absolute path: folder of downloads without a destination.")
        case .conflictPolicy:
            .optional(.oneOf(ConflictPolicy.self), "What delivery does if a file already has the name; `rename`.")
        case .maximumConcurrentTasks: .optional(.integer, "Tasks of this session that run at the same time.")
        case .downloadRateLimit: .optional(.byteRate, "Of this session's downloads together.")
        case .uploadRateLimit: .optional(.byteRate, "Of this session's uploads together.")
        case .schedule: .optional(.list(.object(ScheduleWindow.self)), "Tasks run only inside one of these windows.")
        case .retry: .optional(.object(RetryPolicySpec.self), "How transient failures are tried again.")
        case .durability:
            .optional(
                .oneOf(Durability.self),
                """
                `full` (default): a file and its folder are synced before its task counts as complete. `relaxed`: they are \
                not; a power loss may remove or truncate files of the last seconds, a killed daemon does not.
                """)
        case .connectionsPerDownload:
            .optional(
                .integer,
                "`connections` of its tasks; default: one, and up to 4 while each makes a download faster.")
        case .httpCookieStorage:
            .optional(
                .oneOf(CookieStorageKind.self),
                """
                Cookies that servers set (RFC 6265bis) and tasks send. `shared`: the owner's, on the disk; `session`: the \
                session's own, in memory if it is volatile; `task`: of one task, through its redirects and retries; `none`: \
                neither taken nor sent. Default: `task` for `background`, `shared` for `default`, `session` for `ephemeral`, \
                which cannot have `shared`.
                """)
        case .httpCookieAcceptPolicy:
            .optional(
                .oneOf(CookieAcceptPolicy.self),
                """
                Which cookies are taken: `always` (default), `never`, or `onlyFromMainDocumentDomain`: only from the site \
                of the task's own URL, wherever redirects lead.
                """)
        case .httpShouldSetCookies:
            .optional(
                .boolean, "False: requests carry no stored cookies, only those of a `Cookie` header; default: true.")
        case .requestCachePolicy:
            .optional(
                .oneOf(RequestCachePolicy.self),
                """
                What data tasks do with stored answers ([cache](cache.md)); default: `useProtocolCachePolicy`. Means nothing in a \
                `background` session, which has no cache.
                """)
        case .urlCache:
            .optional(
                .object(CacheCapacities.self),
                "A cache of the session's own; default: its owner's. `ephemeral` sessions always have their own, in memory."
            )
        case .isDiscretionary, .allowsExpensiveNetworkAccess, .allowsConstrainedNetworkAccess:
            .optional(.any, "Not built yet.")
        }
    }
}

extension Destination: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .path: .optional(.string, "Absolute path of the file; excludes the others.")
        case .directory: .optional(.string, "Absolute path of the folder.")
        case .filename: .optional(.string, "Name in `directory`; default: taken from the server's answer or the URL.")
        }
    }
}

extension SourceFile: WireObject {
    public static let wireName = "Source"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .path: .required(.string, "Absolute path of the file.")
        }
    }
}

extension S3Upload: WireObject {
    public static let wireName = "S3"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .partURLs: .required(.list(.string), "Presigned URLs of UploadPart, in order.")
        case .partSize: .required(.byteCount, "Bytes of every part but the last.")
        case .completeURL: .required(.string, "Presigned URL of CompleteMultipartUpload.")
        case .abortURL:
            .optional(
                .string,
                "Presigned URL of AbortMultipartUpload, requested when the task is cancelled or removed unfinished. Without it, "
                    + "the parts stay until the store's own rules remove them.")
        }
    }
}

extension RequestBody: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .text: .optional(.string, "UTF-8 text; exactly one of the three.")
        case .base64: .optional(.string, "Any bytes, in base64.")
        case .file:
            .optional(.string, "Absolute path of a file: copied at once up to 1 MiB, otherwise read when it is sent.")
        case .size: .optional(.byteCount, "Only in `task.get` with `secrets`: length of a body of more than 1 MiB.")
        }
    }
}

extension Checksum: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .algorithm: .required(.oneOf(DigestAlgorithm.self), "The digest.")
        case .value: .required(.string, "Hexadecimal.")
        }
    }
}

extension PieceDigests: WireObject {
    public static let wireName = "Pieces"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .algorithm: .required(.oneOf(DigestAlgorithm.self), "The digest.")
        case .length: .required(.byteCount, "Bytes of every piece but the last.")
        case .values: .required(.list(.string), "Hexadecimal, in order, \(Bounds.pieces) at most; left out of answers.")
        }
    }
}

extension RetryPolicySpec: WireObject {
    public static let wireName = "RetryPolicy"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .attempts: .optional(.integer, "Attempts in all; 0 (default) = unlimited.")
        case .firstDelay: .optional(.seconds, "Longest first delay; 1.")
        case .longestDelay: .optional(.seconds, "No delay is longer; 600.")
        }
    }
}

extension ClientCertificate: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .certificate: .required(.string, "Absolute path of a PEM certificate or chain.")
        case .key: .optional(.string, "Absolute path of the PEM key, if it is in another file.")
        case .password: .optional(.string, "Pass phrase of the key; never shown again.")
        }
    }
}

extension ScheduleWindow: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .from: .required(.string, "HH:MM, local time.")
        case .to: .required(.string, "HH:MM; past midnight if it is not later than `from`.")
        case .days: .optional(.list(.integer), "Days on which it begins, 0 = Sunday; default: all.")
        }
    }
}

extension LaunchSpec: WireObject {
    public static let wireName = "Launch"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .unit: .optional(.string, "A systemd unit; exactly one of the two.")
        case .argv: .optional(.list(.string), "Program (absolute path) and arguments; user mode only.")
        }
    }
}

extension ResponseInfo: WireObject {
    public static let wireName = "Response"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .url: .required(.string, "After redirects, without user info.")
        case .status: .optional(.integer, "HTTP status.")
        case .statusText: .optional(.string, "The status in words.")
        case .headers:
            .required(
                HeaderField.wireType,
                "[name, value], as received; repeats are joined with commas, but with `secrets` stay apart. Content-Encoding and Content-Length are of the body before it was decoded."
            )
        case .headersTruncated:
            .optional(.boolean, "True in lists and events: there are more than 16 KiB of headers; `task.get` has all.")
        case .mimeType: .optional(.string, "Media type without parameters.")
        case .textEncoding: .optional(.string, "Its charset.")
        case .expectedLength: .required(.byteCount, "-1 if unknown.")
        case .suggestedFilename: .optional(.string, "Name suggested by the answer and the URL.")
        case .resumedFrom: .optional(.byteCount, "Offset in the file at which this answer's body began; absent for 0.")
        case .body:
            .optional(
                .object(ResponseBody.self),
                "First 64 KiB of the answer to an upload or data task; of a data task with `secrets` up to 1 MiB.")
        case .fromCache:
            .optional(
                .boolean, "True: the answer was stored; the server was not asked, or confirmed it ([cache](cache.md)).")
        case .age: .optional(.integer, "If it was stored: seconds since the server made or confirmed it.")
        }
    }
}

extension ResponseBody: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .text: .optional(.string, "The body, if it is UTF-8.")
        case .base64: .optional(.string, "The body, if it is not UTF-8.")
        case .truncated: .optional(.boolean, "True: there was more.")
        case .size:
            .optional(
                .byteCount,
                "Only in `task.get` with `secrets`: length of a body of more than 1 MiB; `task.body` has its bytes.")
        }
    }
}

extension TransferError: WireObject {
    public static let wireName = "Error"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .code: .required(.string, "Cause; see Errors.")
        case .message: .required(.string, "What happened and what to do.")
        case .retryable: .required(.boolean, "Whether the same request may succeed later.")
        case .resumable:
            .optional(
                .boolean,
                "True: the task failed and the bytes it received are kept. `task.retry` continues from them, `task.resumeData` hands them over."
            )
        case .details: .required(.map(.any), "Depends on the code.")
        }
    }
}

extension CacheCapacities: WireObject {
    public static let wireName = "CacheCapacities"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .memoryCapacity:
            .optional(.byteCount, "Bytes in memory; default: 4 MiB. One answer takes a twentieth at most.")
        case .diskCapacity: .optional(.byteCount, "Bytes on the disk; default: 20 MiB. Likewise.")
        }
    }
}
