import TransferModel

/// What all methods have in common.
public enum RPCCatalog {
    public static let protocolVersion = 1
    /// Name of the notification that carries events.
    public static let eventNotification = "event"
    /// Name of the notification that carries a piece of a body (`TaskData`).
    public static let dataNotification = "task.data"
    /// Names of supported features, for `daemon.info`.
    public static let features = [
        "download", "resume", "resumeData", "segments", "mirrors", "pieces", "checksum", "events",
        "durableSubscribers", "launchEvents", "schedule", "schedule.rates", "rateLimits", "interface", "directories",
        "priorities", "proxies", "clientCertificates", "netrc", "relaxed", "waitsForConnectivity", "conditions",
        "acceptsAnyStatus", "resumableFailures", "wholeHeads",
        "taskSecrets", "metrics", "contentCodings", "cookies", "cache", "credentials", "credentialHelper",
        "exceptionDomains", "hsts", "schemes", "decisions.challenge", "decisions.redirect", "decisions.response",
        "decisions.begin", "decisions.cache", "decisions.challenge.ntlm", "decisions.challenge.negotiate",
        "decisions.challenge.serverTrust", "decisions.challenge.serverTrust.permanent",
        "decisions.challenge.clientCertificate", "sessions.background", "sessions.default", "sessions.ephemeral",
        "sessions.streams", "http", "https", "http2", "ftp", "ftps", "sftp", "file", "data", "upload", "dataTasks",
        "requestBodies", "upload.put", "upload.post", "upload.multipart", "upload.contentRange", "upload.tus",
        "upload.resumable", "upload.auto", "upload.s3Multipart", "upload.ftp", "upload.sftp",
    ]
    /// The feature that a machine without Kerberos lacks.
    package static let kerberosFeature = "decisions.challenge.negotiate"
    /// Codes that any method may answer with.
    public static let commonErrors: [ErrorCode] = [
        .rpcMalformed, .rpcUnknownMethod, .unknownField, .badField, .tooLarge, .limitReached, .shuttingDown,
        .stateNewer, .internal,
    ]
}

extension TransferError {
    /// The error in an answer's `error` object; a code that this client does not know becomes `internal` and is kept in
    /// the details.
    package init(answer text: [UInt8]) {
        let object = try? JSONCoding.decode(JSONValue.self, from: text, lenient: true)
        let data = object?["data"]
        let name = data?["code"]?.stringValue ?? ""
        let code = ErrorCode(rawValue: name)
        var details = data?["details"]?.objectValue ?? [:]
        if object != nil, code == nil { details["code"] = .string(name) }
        self.init(
            code ?? .internal, object?["message"]?.stringValue ?? "The daemon refused without saying why.",
            retryable: data?["retryable"]?.boolValue, details: details)
    }
}
