import TransferModel

/// Names that this version does not support yet: they are refused by name and omitted from the reference.
public enum UnbuiltNames {
    /// Fields of a session's configuration that are refused, whatever their value.
    public static let session = SessionConfiguration.CodingKeys.allCases.filter { !$0.isBuilt }

    /// - Parameter path: of the configuration in the message.
    /// - Throws: `request.unsupported` that names the field.
    public static func check(_ configuration: SessionConfiguration, path: String) throws(TransferError) {
        for key in session where configuration.has(key) {
            throw unsupported(path, key.stringValue, "this is not built yet")
        }
    }

    private static func unsupported(_ path: String, _ name: String, _ why: String) -> TransferError {
        let field = path.isEmpty ? name : "\(path).\(name)"
        return TransferError.bad(field, "\(why); daemon.info.features lists what is.", .unsupported)
    }
}

extension SessionConfiguration {
    /// Whether this field, which is not supported yet, has a value.
    fileprivate func has(_ key: CodingKeys) -> Bool {
        switch key {
        case .isDiscretionary: isDiscretionary != nil
        case .allowsExpensiveNetworkAccess: allowsExpensiveNetworkAccess != nil
        case .allowsConstrainedNetworkAccess: allowsConstrainedNetworkAccess != nil
        case .timeoutIntervalForRequest, .timeoutIntervalForResource, .httpMaximumConnectionsPerHost,
            .httpAdditionalHeaders, .proxy, .tlsMinimumVersion, .caFile, .clientCertificate, .allowsArbitraryLoads,
            .exceptionDomains, .hsts,
            .acceptsAnyStatus, .resumesUnproven, .waitsForConnectivity, .sendsLaunchEvents, .asks, .subscriber, .launch,
            .launchInterval,
            .directory, .requestCachePolicy, .urlCache, .httpCookieStorage, .httpCookieAcceptPolicy,
            .httpShouldSetCookies,
            .conflictPolicy, .maximumConcurrentTasks, .downloadRateLimit, .uploadRateLimit, .schedule, .retry,
            .connectionsPerDownload, .durability:
            false
        }
    }
}

/// Names of supported features, for `daemon.info`.
public enum Feature: String, CaseIterable, Sendable {
    case download, resume, resumeData, segments, mirrors, pieces, checksum, events, durableSubscribers, launchEvents,
        schedule,
        rateLimits, priorities, proxies, clientCertificates, netrc, relaxed, waitsForConnectivity,
        acceptsAnyStatus, resumableFailures, wholeHeads, taskSecrets, metrics, contentCodings, cookies, cache,
        credentials, credentialHelper, exceptionDomains, hsts, schemes
    case decisionsChallenge = "decisions.challenge"
    case decisionsRedirect = "decisions.redirect"
    case decisionsResponse = "decisions.response"
    case decisionsBegin = "decisions.begin"
    case decisionsCache = "decisions.cache"
    case decisionsNTLM = "decisions.challenge.ntlm"
    case decisionsNegotiate = "decisions.challenge.negotiate"
    case decisionsServerTrust = "decisions.challenge.serverTrust"
    case decisionsPermanentTrust = "decisions.challenge.serverTrust.permanent"
    case decisionsClientCertificate = "decisions.challenge.clientCertificate"
    case sessionsBackground = "sessions.background"
    case sessionsDefault = "sessions.default"
    case sessionsEphemeral = "sessions.ephemeral"
    case sessionsStreams = "sessions.streams"
    case http, https, http2, ftp, ftps, sftp, file, data
    case upload, dataTasks, requestBodies
    case uploadPut = "upload.put"
    case uploadPost = "upload.post"
    case uploadMultipart = "upload.multipart"
    case uploadContentRange = "upload.contentRange"
    case uploadTus = "upload.tus"
    case uploadResumable = "upload.resumable"
    case uploadAuto = "upload.auto"
    case uploadS3 = "upload.s3Multipart"
    case uploadFTP = "upload.ftp"
    case uploadSFTP = "upload.sftp"
}
