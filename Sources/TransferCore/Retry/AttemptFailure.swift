import TransferModel

/// Why an attempt ended without the file, classified for the machine.
package struct AttemptFailure: Error, Sendable, Hashable {
    package enum Disposition: Sendable, Hashable {
        /// Try again later; `after` is the server's Retry-After.
        case transient(after: Seconds?)
        /// Wait until the disk or the target is back.
        case disk
        /// Wait for the network.
        case network
        case permanent
    }
    package var error: TransferError
    package var disposition: Disposition
    /// Bytes arrived in this attempt beyond those held when it began.
    package var progressed: Bool
    /// Bytes held at its end. Only what lies beyond the furthest of all attempts resets the count of failures.
    package var held = ByteCount.zero
    /// The body was shorter than announced.
    @BoxedOptional package var shortEnd: ShortEnd?
    /// The redirect's target, if a client must decide about it.
    @BoxedOptional package var redirect: StandingRequest?
    /// The whole body of that redirect; nil if it is not here.
    @BoxedOptional package var redirectBody: [UInt8]?
    /// The body of an answer that is kept or streamed is not what its header says. A second time, that is final.
    package var isOfBody = false
    /// A server or proxy demands credentials; a user name and a password can answer it.
    @BoxedOptional package var challenge: ResponseHead?
    /// A client may be asked about what ended a TLS handshake.
    @BoxedOptional package var tls: TLSChallenge?

    package init(error: TransferError, disposition: Disposition, progressed: Bool = false) {
        self.error = error
        self.disposition = disposition
        self.progressed = progressed
    }

    /// The error itself says whether to try again.
    init(_ error: TransferError, retryAfter: Seconds? = nil) {
        let again = error.isOfInterface ? Disposition.network : .transient(after: retryAfter)
        self.init(error: error, disposition: error.retryable ? again : .permanent)
    }

    static func transient(_ error: TransferError) -> AttemptFailure {
        AttemptFailure(error: error, disposition: .transient(after: nil))
    }

    static func transient(_ code: ErrorCode, _ message: String) -> AttemptFailure {
        .transient(TransferError(code, message, retryable: true))
    }

    static func permanent(_ error: TransferError) -> AttemptFailure {
        AttemptFailure(error: error, disposition: .permanent)
    }

    static func permanent(_ code: ErrorCode, _ message: String) -> AttemptFailure {
        .permanent(TransferError(code, message, retryable: false))
    }
}

// MARK: - Rules

extension AttemptFailure {
    /// Member of an error's details: how many bytes of the file are already held.
    static let bytesHeld = "bytesHeld"
    /// Member of an error's details: the server at fault, if a redirect led there.
    static let redirectedTo = "redirectedTo"

    /// The name did not resolve and the task never received a byte: most likely a typing error.
    package var isUnresolvedName: Bool {
        error.code == .networkDNS && !progressed && (error.details[Self.bytesHeld]?.integerValue ?? 0) == 0
    }

    /// There is no network, no address for the name, or no connection; with mirrors, to none of those that were asked.
    var isUnconnected: Bool {
        switch disposition {
        case .network: true
        case .transient:
            error.code == .networkDNS || error.code == .networkConnect || FailureClassifier.isConnecting(error)
        case .disk, .permanent: false
        }
    }

    /// The same failure if no network leads to the host: then the host is not at fault, unless it has named a time.
    package var withoutNetwork: AttemptFailure {
        guard case .transient(after: nil) = disposition, error.code.isOfConnections else { return self }
        var copy = self
        copy.disposition = .network
        return copy
    }

    /// The same failure if the disk shows no fault: there is nothing to wait for, so the attempt is repeated like
    /// others, with growing delays.
    package var withReadyDisk: AttemptFailure {
        guard case .disk = disposition else { return self }
        var copy = self
        copy.disposition = .transient(after: nil)
        copy.error.message = FailureClassifier.withReadyDisk(error)
        return copy
    }

    /// What the failures of all mirrors of a file mean together: another attempt is worthwhile as long as it is for one
    /// of them.
    /// - Parameter failures: at least one, in the order of preference.
    static func combined(_ failures: [AttemptFailure]) -> AttemptFailure? {
        var waits: [Seconds?] = []
        var (transient, network): (AttemptFailure?, AttemptFailure?)
        for failure in failures {
            switch failure.disposition {
            case .disk: return failure
            case .transient(let after):
                waits.append(after)
                transient = transient ?? failure
            case .network: network = network ?? failure
            case .permanent: break
            }
        }
        guard var whole = transient ?? network ?? failures.first else { return nil }
        // A mirror that named no time may be asked sooner than the others.
        if transient != nil {
            whole.disposition = .transient(after: waits.contains(nil) ? nil : waits.compactMap { $0 }.min())
        }
        whole.progressed = failures.contains(where: \.progressed)
        whole.held = failures.map(\.held).max() ?? .zero
        // A wrong length from one mirror ends nothing as long as another may deliver the file.
        let mayGive = failures.contains { $0.shortEnd == nil && $0.disposition != .permanent }
        whole.shortEnd = mayGive ? nil : failures.compactMap(\.shortEnd).first
        return whole
    }

    /// The failure if another attempt would not help.
    func final(_ why: String = "") -> AttemptFailure {
        var final = self
        final.disposition = .permanent
        final.error.retryable = false
        final.error.message += why
        return final
    }

    /// The failure of a download whose attempt began with `start` bytes.
    func after(_ outcome: ExchangeOutcome, from start: ByteCount) -> AttemptFailure {
        let achieved = outcome.received > 0 && outcome.offset > start
        return with(progressed: achieved, held: max(start, outcome.offset))
    }

    /// The failure, with what the whole attempt achieved.
    func with(progressed: Bool, held: ByteCount) -> AttemptFailure {
        var copy = self
        copy.progressed = progressed
        copy.held = held
        if error.code == .networkDNS, held > 0 { copy.error.details[Self.bytesHeld] = .integer(held.rawValue) }
        return copy
    }
}

extension ErrorCode {
    /// There was no connection, or it broke: perhaps for lack of a network.
    var isOfConnections: Bool {
        [.networkDNS, .networkConnect, .networkLost, .networkTimeout, .tlsFailed].contains(self)
    }
}

extension TransferError {
    /// Member of an error's details: the codings that the body should have and does not.
    package static let coding = "coding"

    /// The body cannot be decoded, and another one may be better.
    package var isUndecodable: Bool { retryable && details[Self.coding] != nil }

    /// A status by which the server refuses the request for good, other than for lack of credentials or of the file.
    var isRefusal: Bool {
        code == .httpStatus && !retryable && ![404, 410].contains(details["status"]?.integerValue ?? 404)
    }

    /// The same error if another attempt would not help.
    package var final: TransferError {
        var copy = self
        copy.retryable = false
        return copy
    }

    /// The final error for a name that never resolved.
    var unresolved: TransferError {
        TransferError(
            .networkDNS, "The name has not resolved for 5 minutes; check its spelling in the URL. (\(message))",
            retryable: false, details: details)
    }
}
