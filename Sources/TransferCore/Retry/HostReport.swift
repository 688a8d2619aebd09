import TransferModel

extension HostGates.Report {
    /// What a failure says about the host of the attempt.
    package init(_ failure: AttemptFailure) {
        switch failure.disposition {
        case .disk, .network: self = .nothing
        case .permanent: self = Self.of(failure, retryAfter: nil)
        case .transient(let after): self = Self.of(failure, retryAfter: after)
        }
    }

    private static func of(_ failure: AttemptFailure, retryAfter: Seconds?) -> Self {
        switch failure.error.code {
        case .httpStatus:
            let status = failure.error.details["status"]?.integerValue ?? 0
            // An FTP server has no such status: it has only the pause.
            if status == 429 || [0, 503].contains(status) && retryAfter != nil {
                return .throttled(retryAfter: retryAfter)
            }
            return status >= 500 ? .refused : .answered
        case .networkDNS, .networkConnect, .networkLost, .networkTimeout, .tlsFailed:
            // A host that redirects has answered, whatever happens at the target.
            let isElsewhere = failure.error.details[AttemptFailure.redirectedTo] != nil
            return failure.progressed || isElsewhere ? .answered : .failed
        case .authRequired, .authFailed, .httpRedirectLimit, .httpProtocol, .validatorChanged, .integrityChecksum,
            .integrityLength, .tlsUntrusted:
            return .answered
        case .badURL, .badField, .unknownField, .tooLarge, .unsupported, .tokenReused, .sessionNotFound,
            .sessionInvalidated, .sessionInUse,
            .taskNotFound, .taskWrongState, .decisionGone, .cacheMiss, .permissionDenied, .destinationExists,
            .destinationNotWritable,
            .destinationBadPath, .sourceUnreadable, .sourceChanged, .diskFull, .diskQuota, .diskIO, .rpcMalformed,
            .rpcUnknownMethod, .deadlineExceeded, .cancelled, .plaintextRefused, .helperFailed, .helperProtocol,
            .limitReached,
            .shuttingDown, .internal:
            return .nothing
        }
    }
}
