import TransferModel

extension WireObject {
    /// Names of members that this version does not support yet: they are refused by name and omitted from the reference.
    package static var unbuiltNames: [String] { shape.rows.filter { !$0.isBuilt }.map(\.name) }
}

extension SessionConfiguration {
    /// - Parameter path: of the configuration in the message.
    /// - Throws: `request.unsupported` that names a field which is not supported yet.
    package func checkIsBuilt(path: String) throws(TransferError) {
        guard let name = Self.shape.present(in: self).first(where: { !$0.isBuilt })?.name else { return }
        throw TransferError.bad(
            path.isEmpty ? name : "\(path).\(name)", "this is not built yet; daemon.info.features lists what is.",
            .unsupported)
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
