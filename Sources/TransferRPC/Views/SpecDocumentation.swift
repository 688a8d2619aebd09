import TransferModel

/// What the members of a task say about secrets.
enum SecretText {
    static let shown = "shown only by `task.get` with `secrets`"
}

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
        case .startPaused: .optional(.boolean, "True: the task is added in the state `paused`.")
        case .earliestBeginAt: .optional(.time, "The task does not start before this time.")
        case .deadlineAt:
            .optional(
                .time, "The task fails at this time unless it has ended; with a time in the past it fails at once.")
        case .rateLimit: .optional(.byteRate, "Rate limit of this task.")
        case .proxy: .optional(.string, "URL with scheme http, https, socks5 or socks5h, or `none`.")
        case .username: .optional(.string, "User name for Basic, Digest, NTLM, Negotiate, FTP and SFTP.")
        case .password: .optional(.string, "Of `username`; \(SecretText.shown).")
        case .cookies:
            .optional(
                .list(.object(Cookie.self)),
                "Up to \(Bounds.cookiesOfTask), as in `cookies.set`; \(SecretText.shown). The task then has a jar of its own, whatever its session's `httpCookieStorage`, and each attempt after a restart of the daemon begins with them anew."
            )
        case .bearer: .optional(.string, "Token for `Authorization: Bearer`; \(SecretText.shown).")
        case .netrc:
            .optional(
                .string, "Path of a netrc file; it is used for the scheme, host and port of the task's own URL only.")
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
        case .formFields: .optional(.map(.string), "`multipart`: other fields; \(SecretText.shown).")
        case .fileName: .optional(.string, "Name sent to the server or given to the file; default: the source's.")
        case .contentType: .optional(.string, "Media type of the file.")
        case .uploadMetadata: .optional(.map(.string), "`tus`: the field Upload-Metadata.")
        case .interopVersion: .optional(.integer, "`resumable`: 3, 5, 6 or 8 (default).")
        case .uploadCreation:
            .optional(
                .choice(["careful", "optimistic"]),
                "`resumable`: create an empty upload first (default), or send data with the creation and rely on 104.")
        case .uploadChecksum:
            .optional(.oneOf(DigestAlgorithm.self), "The digest to send, if the protocol supports one.")
        case .s3: .optional(.object(S3Upload.self), "`s3Multipart`: presigned URLs; \(SecretText.shown).")
        case .caFile, .clientCertificate, .tlsMinimumVersion, .timeoutIntervalForRequest, .timeoutIntervalForResource,
            .retry, .durability, .allowsArbitraryLoads, .acceptsAnyStatus, .resumesUnproven,
            .waitsForConnectivity:
            inherited(key)
        }
    }

    /// Settings that a task may override are documented once, for the session.
    private static func inherited(_ key: CodingKeys) -> Field {
        guard let setting = SessionConfiguration.CodingKeys(rawValue: key.rawValue) else {
            return .optional(.any, "Like the session's setting.")
        }
        return SessionConfiguration.field(setting)
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
        case .values:
            .required(.list(.string), "Hexadecimal, in order, \(Bounds.pieces) at most; no answer shows them.")
        }
    }
}
