/// The error vocabulary that tasks, events, logs, the wire and the command line share.
///
/// One table: the raw value is the stable name, `summary` is its line in docs/errors.md, and `retryable` is what a
/// client may assume if it knows nothing else.
public enum ErrorCode: String, Word {
    case badURL = "request.bad_url"
    case badField = "request.bad_field"
    case unknownField = "request.unknown_field"
    case tooLarge = "request.too_large"
    case unsupported = "request.unsupported"
    case tokenReused = "request.token_reused"
    case sessionNotFound = "session.not_found"
    case sessionInvalidated = "session.invalidated"
    case sessionInUse = "session.in_use"
    case taskNotFound = "task.not_found"
    case taskWrongState = "task.wrong_state"
    case decisionGone = "decision.gone"
    case permissionDenied = "permission.denied"
    case destinationExists = "destination.exists"
    case destinationNotWritable = "destination.not_writable"
    case destinationBadPath = "destination.bad_path"
    case sourceUnreadable = "source.unreadable"
    case sourceChanged = "source.changed"
    case diskFull = "disk.full"
    case diskQuota = "disk.quota"
    case diskIO = "disk.io"
    case networkDNS = "network.dns"
    case networkConnect = "network.connect"
    case networkLost = "network.lost"
    case networkTimeout = "network.timeout"
    case tlsUntrusted = "tls.untrusted"
    case tlsFailed = "tls.failed"
    case httpStatus = "http.status"
    case httpRedirectLimit = "http.redirect_limit"
    case httpProtocol = "http.protocol"
    case authRequired = "auth.required"
    case authFailed = "auth.failed"
    case validatorChanged = "resume.validator_changed"
    case integrityChecksum = "integrity.checksum"
    case integrityLength = "integrity.length"
    case rpcMalformed = "rpc.malformed"
    case rpcUnknownMethod = "rpc.unknown_method"
    case deadlineExceeded = "deadline.exceeded"
    case cancelled = "cancelled"
    case plaintextRefused = "policy.plaintext_refused"
    case conditionsRefused = "policy.conditions_refused"
    case cacheMiss = "cache.miss"
    case helperFailed = "helper.failed"
    case helperProtocol = "helper.protocol"
    case limitReached = "limit.reached"
    case shuttingDown = "daemon.shutting_down"
    case stateNewer = "state.newer"
    case `internal` = "internal"
}

extension ErrorCode {
    /// Whether the same request may succeed later without being changed.
    public var retryable: Bool { Self.passing.contains(self) }

    private static let passing: Set<ErrorCode> = [
        .diskFull, .diskQuota, .diskIO, .networkDNS, .networkConnect, .networkLost, .networkTimeout, .limitReached,
        .shuttingDown, .validatorChanged, .integrityLength, .conditionsRefused,
    ]

    /// Whether errors of this code differ in that, so that each one says for itself. A status of 503 is temporary, a
    /// 404 is not, and a POST whose answer was lost is not sent twice. `retryable` then applies to an error that does
    /// not say.
    public var mayVary: Bool { Self.varying.contains(self) }

    private static let varying: Set<ErrorCode> = [
        .httpStatus, .httpProtocol, .sourceUnreadable, .networkDNS, .networkConnect, .networkLost, .networkTimeout,
        .tlsFailed, .integrityLength, .diskIO, .limitReached, .helperFailed, .helperProtocol, .internal,
    ]

    /// What happened, in half a sentence; docs/errors.md prints it.
    public var summary: String {
        switch self {
        case .badURL: "the URL is malformed, has control characters, or has a scheme that dld does not support"
        case .badField: "a field has the wrong type, range or combination"
        case .unknownField: "this method does not know the field"
        case .tooLarge: "the message or a part of it exceeds its limit"
        case .unsupported: "this version does not support it yet"
        case .tokenReused: "the `clientToken` was used with another specification within the last 24 h"
        case .sessionNotFound: "the owner has no such session"
        case .sessionInUse: "the volatile session belongs to another connection"
        case .sessionInvalidated: "the session accepts no more tasks"
        case .taskNotFound: "there is no such task, or it is another user's"
        case .taskWrongState: "the task's state does not allow this"
        case .decisionGone: "the owner has no such question, or it was answered otherwise or closed"
        case .permissionDenied: "the peer may not do this, or not with this file"
        case .destinationExists: "a file already has the final name, and the policy is `fail`"
        case .destinationNotWritable: "the folder is not writable"
        case .destinationBadPath: "the destination is not a usable path"
        case .sourceUnreadable: "a local file cannot be read"
        case .sourceChanged: "the local file changed while it was being sent"
        case .diskFull: "the disk is full"
        case .diskQuota: "the disk quota is used up"
        case .diskIO: "the disk failed, or the destination is not mounted"
        case .networkDNS: "the host name does not resolve"
        case .networkConnect: "the host does not accept the connection"
        case .networkLost: "the connection broke"
        case .networkTimeout: "the server sent nothing for too long"
        case .tlsUntrusted: "the server's certificate or host key is not trusted"
        case .tlsFailed:
            "the encrypted connection could not be established; final if HSTS turned http into https and the server does not speak TLS"
        case .httpStatus: "the server answered with an error status"
        case .httpRedirectLimit: "more redirects than allowed"
        case .httpProtocol: "the server's answer violates the protocol"
        case .authRequired: "the server or proxy requires credentials that were not given or not accepted"
        case .authFailed: "the credentials could not be used"
        case .validatorChanged:
            "the server has another version, or sent all of it instead of the rest, or nothing proves that it still has the same; the download restarted from 0"
        case .integrityChecksum: "the bytes do not match the digest"
        case .integrityLength: "the body does not have the announced length"
        case .rpcMalformed:
            "the message is not a JSON-RPC 2.0 request; if the line is not JSON at all, the integer is -32700"
        case .rpcUnknownMethod: "there is no such method"
        case .deadlineExceeded: "the task's deadline or its `timeoutIntervalForResource` has passed"
        case .cancelled: "the task was cancelled"
        case .plaintextRefused: "the task or its session forbids unencrypted transfers"
        case .conditionsRefused: "the task or its session forbids the network or the power that the machine has now"
        case .cacheMiss: "nothing is stored that answers the request, and it was not to use the network"
        case .helperFailed: "the helper for the URL's scheme failed, or says that the request failed"
        case .helperProtocol: "the helper for the URL's scheme breaks the protocol of helpers"
        case .limitReached: "a limit of this daemon is reached"
        case .shuttingDown: "the daemon is stopping"
        case .stateNewer: "a newer dld wrote the state folder, so this one does not start"
        case .internal: "a defect of dld; please report it"
        }
    }

    /// The JSON-RPC 2.0 integer of an error answer with this cause; no other cause has it.
    public var rpcCode: Int { Self.rpcCodes[self] ?? -32000 }

    /// The integers of section 5.1 of the specification, and those that it leaves to servers, from -32001 down.
    private static let rpcCodes: [ErrorCode: Int] = {
        var codes: [ErrorCode: Int] = [
            .rpcMalformed: -32600, .rpcUnknownMethod: -32601, .badField: -32602, .internal: -32603,
        ]
        for (place, code) in serverErrors.enumerated() { codes[code] = -32001 - place }
        return codes
    }()

    /// The place is the integer, for ever: a new code goes to the end, at most 99.
    private static let serverErrors: [ErrorCode] = [
        .badURL, .unknownField, .tooLarge, .unsupported, .tokenReused, .sessionNotFound, .sessionInvalidated,
        .sessionInUse, .taskNotFound, .taskWrongState, .decisionGone, .permissionDenied, .destinationExists,
        .destinationNotWritable, .destinationBadPath, .sourceUnreadable, .sourceChanged, .diskFull, .diskQuota, .diskIO,
        .networkDNS, .networkConnect, .networkLost, .networkTimeout, .tlsUntrusted, .tlsFailed, .httpStatus,
        .httpRedirectLimit, .httpProtocol, .authRequired, .authFailed, .validatorChanged, .integrityChecksum,
        .integrityLength, .deadlineExceeded, .cancelled, .plaintextRefused, .cacheMiss, .helperFailed, .helperProtocol,
        .limitReached, .shuttingDown, .stateNewer, .conditionsRefused,
    ]
}

/// A cause, and a sentence that says what to do.
public struct TransferError: Error, Hashable, Sendable, CustomStringConvertible {
    public var code: ErrorCode
    public var message: String
    public var retryable: Bool {
        didSet { if !code.mayVary { retryable = code.retryable } }
    }
    public var details: [String: JSONValue]
    /// For a failed task: the bytes it received are kept.
    public var resumable = false

    /// - Parameter retryable: used only if errors of this code may differ in it (`ErrorCode.mayVary`).
    public init(
        _ code: ErrorCode, _ message: String, retryable: Bool? = nil, details: [String: JSONValue] = [:]
    ) {
        self.code = code
        self.message = message
        self.retryable = code.mayVary ? retryable ?? code.retryable : code.retryable
        self.details = details
    }

    /// The refusal of a request, whose sentence and details name the field at fault by its path.
    package static func bad(_ field: String, _ reason: String, _ code: ErrorCode = .badField) -> TransferError {
        TransferError(code, "\(field): \(reason)", details: ["field": .string(field)])
    }

    public var description: String { "\(code.rawValue): \(message)" }
}

/// What is wrong with a certificate; in the details of `tls.untrusted`, if known.
public enum CertificateFault: String, Sendable, CaseIterable {
    case notYetValid = "not_yet_valid"
    case expired
    case revoked
    case wrongName = "wrong_name"
    case selfSigned = "self_signed"
    case unknownIssuer = "unknown_issuer"
    case weak

    /// The member of `TransferError.details`.
    public static let member = "certificate"
}

/// Why the folder of a download cannot be used, although the disk answers; in the details of `disk.io`, if known.
public enum FolderFault: String, Sendable, CaseIterable {
    /// It was removed, or moved away, or its disk is not mounted.
    case missing
    /// Another folder is at its path, or its path leads nowhere any more.
    case moved
    /// Another file system is there than when the task was added.
    case otherFileSystem = "other_file_system"

    /// The member of `TransferError.details`.
    public static let member = "folder"
}

extension TransferError {
    public var folderFault: FolderFault? {
        details[FolderFault.member]?.stringValue.flatMap(FolderFault.init(rawValue:))
    }

    /// The member of `details` that is true if a body was refused as a decompression bomb.
    public static let bombMember = "decompressionBomb"

    /// The member of `details` that is true if a file is larger than its file system or the daemon allows.
    public static let tooLargeMember = "tooLarge"

    package static func sessionInUse(_ identifier: String) -> TransferError {
        TransferError(
            .sessionInUse,
            "The session \"\(identifier)\" belongs to another connection as long as that is open; use another name.",
            details: ["session": .string(identifier)])
    }

    package static func noSession(_ identifier: String) -> TransferError {
        TransferError(
            .sessionNotFound,
            "There is no session \"\(identifier)\"; session.open creates it.",
            details: ["session": .string(identifier)])
    }
}

extension TransferError: WireObject {
    public static let shape = Shape("Error", Self(.internal, "")) { row in
        row("code", \.code, "The cause; see [errors.md](errors.md).", as: .string)
        row("message", \.message, "What happened and what to do.")
        row("retryable", \.retryable, "Whether the same request may succeed later.")
        row(
            "resumable", \.resumable,
            "True: the task failed and the bytes it received are kept. `task.retry` continues from them, `task.resumeData` hands them over.",
            isRequired: false, omitted: { !$0 })
        row("details", \.details, "Depends on the code.")
    }

    /// Of an older daemon, and in the store, only the code is certain.
    public init(json node: JSONNode) throws(TransferError) {
        guard let code: ErrorCode = try node.value("code") else { throw node.missing("code") }
        self.init(code, try node.value("message") ?? code.summary)
        retryable = try node.value("retryable") ?? code.retryable
        resumable = try node.value("resumable") ?? false
        details = try node.value("details") ?? [:]
    }
}
